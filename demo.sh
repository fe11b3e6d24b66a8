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

printf '\nA fifth of the synsets is taken out, to be asked about later as things never seen:\n'
show kgraft split demo/wordnet demo/unseen --seed 1

printf '\nThe benchmark that came out:\n'
show kgraft stats demo/unseen --plot demo/unseen.svg

printf '\nIt lies in demo/unseen as plain text, with a plot in demo/unseen.svg.\n'

printf '\nEmbeddings are trained for a minute or so, such that they also serve synsets without one:\n'
show kgraft train demo/unseen demo/model --preset paper --epochs 20 --validate-every 10

printf '\nThe synsets that were taken out are embedded from what is known of them, and asked about:\n'
show kgraft eval demo/model demo/unseen
printf '\nThe same embeddings, asked with least squares instead of the mean:\n'
show kgraft eval demo/model demo/unseen --aggregate ls

printf '\nTry your own graph:\n'
printf '  build/src/kgraft import my-graph.tsv my-dataset\n'
printf '  build/src/kgraft import my-graph.nt.gz my-dataset\n'
printf '  build/src/kgraft split my-dataset my-benchmark\n'
printf '  build/src/kgraft train my-benchmark my-model --preset paper\n'
