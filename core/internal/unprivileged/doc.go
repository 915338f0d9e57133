// Package unprivileged lets a test that runs as root see what mode bits forbid
// to everybody else. Only tests import it.
package unprivileged
