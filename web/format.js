/* Numbers and facts as people read them. */

const whole = new Intl.NumberFormat("en");

export const formatCount = (count) => whole.format(count);

export const plural = (count, one, many) => `${formatCount(count)} ${count === 1 ? one : many}`;

/** Scores have no unit: three digits tell them apart. */
export function formatScore(score) {
  const size = Math.abs(score);
  const text = score.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
  return text.replace("-", "\u2212");
}

export const formatSigned = (score) => (score < 0 ? formatScore(score) : `+${formatScore(score)}`);

export function formatProbability(probability) {
  if (probability === null || probability === undefined) return "\u2013";
  const percent = 100 * probability;
  if (percent < 0.1) return "<\u00a00.1\u00a0%";
  if (percent > 99.9) return ">\u00a099.9\u00a0%";
  return `${percent.toFixed(percent < 10 ? 1 : 0)}\u00a0%`;
}

/** Ties count half, so a rank may end in .5. */
export const formatRank = (rank) => (Number.isInteger(rank) ? formatCount(rank) : whole.format(rank));

export const formatTime = (milliseconds) =>
  new Date(milliseconds).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** A fact as words, for labels and messages. */
export const sayFact = ([head, relation, tail]) => `${head} ${relation} ${tail}`;

/** A fact as seen from one of its ends. */
export function seenFrom(subject, [head, relation, tail]) {
  return head === subject ? { relation, side: "tail", other: tail } : { relation, side: "head", other: head };
}

/** The opposite: the fact that links a subject with the entity at that side of a relation. */
export const makeFact = (subject, relation, side, other) =>
  side === "tail" ? [subject, relation, other] : [other, relation, subject];
