#!/bin/sh
# kgraft at work on real data: WordNet becomes a knowledge graph, a model is trained on all of it, and what is
# new to the model is asked about, with reasons. In the end, how good that is.
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

printf '\nAll the rest is trained on, such that what is learned also serves synsets that are not in it. Some\n'
printf 'synsets are held out first, to choose the epoch and to learn what a score is worth; in the end the model\n'
printf 'has everything. One epoch instead of several is nearly as good, and takes a minute or two:\n'
show kgraft train demo/rest.tsv demo/model --epochs 1 --propagation-epochs 1

printf '\nNow the news. Somebody tells three things about guitars, of which the model knows nothing:\n'
printf '%s\t%s\t%s\n' \
  guitar.n.01 hypernym stringed_instrument.n.01 \
  bass_guitar.n.01 hypernym guitar.n.01 \
  guitarist.n.01 derivationally_related_form guitar.n.01 > demo/guitar.tsv
show cat demo/guitar.tsv

printf '\nWhat else is true of them? No training is needed to say:\n'
show kgraft predict demo/model demo/guitar.tsv -k 5

printf '\nAnd why? Which facts an answer rests on, and the paths through the graph that carry it, drawn in\n'
printf 'demo/musical_instrument.svg:\n'
show kgraft explain demo/model demo/guitar.tsv --relation hypernym --answer musical_instrument.n.01 \
  --plot demo/musical_instrument.svg

printf '\nIn a store the news stays, and is known to all that follows: another thing hangs on it, and is an\n'
printf 'answer itself. What was wrong is withdrawn and leaves no trace but in the log:\n'
show kgraft store demo/model demo/store
show kgraft add demo/store demo/guitar.tsv
printf '%s\t%s\t%s\n' \
  ukulele.n.99 hypernym guitar.n.01 \
  ukulele.n.99 part_meronym fingerboard.n.03 > demo/ukulele.tsv
show cat demo/ukulele.tsv
show kgraft add demo/store demo/ukulele.tsv
show kgraft predict demo/store --entity ukulele.n.99 -k 3
show kgraft remove demo/store demo/ukulele.tsv
show kgraft log demo/store

printf '\nHow good is that? To measure it, a fifth of the synsets with enough facts is taken out of the graph:\n'
show kgraft split demo/rest.tsv demo/benchmark --seed 1
show kgraft stats demo/benchmark --plot demo/benchmark.svg

printf '\nIt lies in demo/benchmark as plain text, with a plot in demo/benchmark.svg. A model that has never seen\n'
printf 'them is asked for each of their facts, given the others:\n'
show kgraft train demo/benchmark demo/judged --epochs 1 --propagation-epochs 1
show kgraft eval demo/judged demo/benchmark

printf '\nThe store can be served to programs and to people:\n'
stop_server() {
  kill $server 2>/dev/null || true
  wait $server 2>/dev/null || true
}
serve_store() {
  kgraft serve demo/store --listen 127.0.0.1:0 --json --quiet > demo/server.json &
  server=$!
  trap stop_server EXIT
  trap 'exit 130' INT # where a signal ends dash, it does not run the trap of EXIT
  trap 'exit 143' TERM
  until [ -s demo/server.json ]; do
    kill -0 $server
    sleep 0.1
  done
  address=$(sed -n 's|.*"\(http://[^"]*\)/".*|\1|p' demo/server.json)
}
show_post() {
  printf '\n$ curl -s %s -d %s\n' "$1" "'$2'"
  curl -sS "$address$1" -H 'Content-Type: application/json' -d "$2"
  echo
}
serve_store
show_post /v1/predict '{"entity": "guitar.n.01", "relation": "hypernym", "side": "tail", "k": 2}'
show_post /v1/facts '{"add": [["ukulele.n.99", "hypernym", "guitar.n.01"]]}'
show_post /v1/predict '{"facts": [["lute.n.99", "hypernym", "ukulele.n.99"]], "k": 1}'

printf '\nTry it with the others that were kept out:\n'
printf "  awk -F '\\\\t' '\$1 == \"tiger.n.02\" || \$3 == \"tiger.n.02\"' demo/wordnet/train.tsv |\n"
printf '    build/src/kgraft predict demo/model - --skip-unknown\n'
printf '  build/src/kgraft predict demo/model --entity dog.n.01\n'
printf '  build/src/kgraft neighbors demo/model --entity piano.n.01\n'
printf '  build/src/kgraft export demo/model --format projector --out demo/projector\n'
printf '\nTry your own graph:\n'
printf '  build/src/kgraft train my-graph.tsv my-model         # or .nt.gz, .ttl, a folder, ...\n'
printf '  build/src/kgraft predict my-model my-new-facts.tsv\n'
if [ -t 1 ]; then
  printf '\nThe page of the server is at %s until you press Ctrl-C.\n' "$address"
  trap 'exit 0' INT
  wait $server
fi
