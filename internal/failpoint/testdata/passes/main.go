// Command passes passes a point five times and says so after each.
package main

import (
	"fmt"

	"flower/internal/failpoint"
)

func main() {
	for range 5 {
		failpoint.At("a")
		fmt.Print(".")
	}
}
