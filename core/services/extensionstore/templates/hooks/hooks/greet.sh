#!/bin/sh
# Runs as a session begins. What is to be done stands on stdin as one JSON object;
# the answer is one on stdout.
cat >/dev/null
echo '{"systemMessage": "EXTENSION-NAME is active."}'
