// Package redact replaces secrets in text that goes to a log, a recording, a report or an error.
// Secrets are values that the process knows, and text with the shape of a secret.
//
// Its output is for records only. Tools never read or write files through it. A JSON text stays
// JSON, at any depth of strings in strings: no match begins or ends inside an escape, and none
// contains a quote of its own level.
//
// The table of shapes is in tokens.go and published in docs/secrets.md. Every sink of the program
// uses this package.
package redact
