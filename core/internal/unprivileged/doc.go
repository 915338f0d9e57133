// Package unprivileged runs a test without root rights, so that permission bits take
// effect. Tests only.
package unprivileged
