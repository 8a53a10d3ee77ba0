//go:build race

package main_test

// raceDetector says whether the tests were built with the race detector, which makes everything slower.
const raceDetector = true
