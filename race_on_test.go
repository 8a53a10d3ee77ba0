//go:build race

package flower

// raceDetector says whether the tests were built with the race detector, which makes everything slower.
const raceDetector = true
