#!/bin/sh
# kgraft at work on real data: WordNet becomes a knowledge graph, the graph a benchmark of entities
# that nobody has seen, and training learns embeddings that serve them.
set -eu
cd "$(dirname "$0")"
tools/install-packages run

show() {
  printf '\n$ %s\n' "$*"
  "$@"
}

[ -f build/build.ninja ] || meson setup build >/dev/null
ninja -C build >/dev/null
PATH=$PWD/build/src:$PATH
rm -rf demo
mkdir demo

echo 'WordNet 3.0, read from the files of the Debian package, becomes a graph of its synsets:'
show kgraft import wordnet demo/wordnet
show head -n 3 demo/wordnet/train.tsv

printf '\nA few synsets that people know are kept out of all that follows, to come back as news:\n'
cat > demo/kept-out.txt <<'NAMES'
guitar.n.01
violin.n.01
tiger.n.02
penguin.n.01
bicycle.n.01
NAMES
show cat demo/kept-out.txt
awk -F '\t' 'NR == FNR { out[$1] = 1; next } !($1 in out) && !($3 in out)' \
  demo/kept-out.txt demo/wordnet/train.tsv > demo/rest.tsv

printf '\nA fifth of the others is taken out to measure with, and asked about as things never seen:\n'
show kgraft split demo/rest.tsv demo/unseen --seed 1

printf '\nThe benchmark that came out:\n'
show kgraft stats demo/unseen --plot demo/unseen.svg

printf '\nIt lies in demo/unseen as plain text, with a plot in demo/unseen.svg.\n'

printf '\nEmbeddings are trained for two minutes or so, such that they also serve synsets without one:\n'
show kgraft train demo/unseen demo/model

printf '\nThe synsets that were taken out are embedded from what is known of them, and asked about:\n'
show kgraft eval demo/model demo/unseen

printf '\nNow the news. Somebody tells three things about guitars, of which the model knows nothing:\n'
printf '%s\t%s\t%s\n' \
  guitar.n.01 hypernym stringed_instrument.n.01 \
  bass_guitar.n.01 hypernym guitar.n.01 \
  guitarist.n.01 derivationally_related_form guitar.n.01 > demo/guitar.tsv
show cat demo/guitar.tsv

printf '\nWhat else is true of them? One closed-form step embeds them, without any training:\n'
show kgraft predict demo/model demo/guitar.tsv -k 5

printf '\nAnd why? A score splits exactly over the facts that it came from:\n'
show kgraft explain demo/model demo/guitar.tsv \
  --relation derivationally_related_form --answer guitarist.n.01
show kgraft explain demo/model demo/guitar.tsv \
  --relation derivationally_related_form --answer pianist.n.01

printf '\nTry it with the others that were kept out:\n'
printf "  awk -F '\\\\t' '\$1 == \"tiger.n.02\" || \$3 == \"tiger.n.02\"' demo/wordnet/train.tsv |\n"
printf '    build/src/kgraft predict demo/model - --skip-unknown\n'
printf '  build/src/kgraft predict demo/model --entity dog.n.01\n'
printf '  build/src/kgraft neighbors demo/model --entity piano.n.01\n'
printf '  build/src/kgraft export demo/model --format projector --out demo/projector\n'
printf '\nTry your own graph:\n'
printf '  build/src/kgraft import my-graph.tsv my-dataset      # or .nt.gz, .ttl, a folder, ...\n'
printf '  build/src/kgraft split my-dataset my-benchmark\n'
printf '  build/src/kgraft train my-benchmark my-model\n'
printf '  build/src/kgraft predict my-model my-new-facts.tsv\n'
