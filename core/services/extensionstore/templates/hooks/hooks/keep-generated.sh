#!/bin/sh
# Runs before a tool changes a file. Exit code 0 lets the call go on, 2 stops it,
# and what stands on stderr is the reason that the model is told.
if grep -q '"file_path": *"[^"]*\.gen\.[^"]*"'; then
	echo 'Generated files are not changed by hand: change what they are made from.' >&2
	exit 2
fi
