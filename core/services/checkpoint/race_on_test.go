//go:build race

package checkpoint_test

const raceDetector = true
