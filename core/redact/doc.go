// Package redact replaces secrets in text that leaves for a log, a recording, a
// report or an error: values that the process knows, and whatever has the shape
// of a secret.
//
// It never serves what tools read and write: what it returns is for records, not
// for files. A JSON text stays JSON, at any depth of strings in strings: no match
// begins or ends inside an escape, and none holds a quote of its own level.
//
// The table of shapes is in tokens.go, docs/secrets.md publishes it, and every
// sink of the program uses this one package.
package redact
