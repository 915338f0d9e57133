package patch_test

import (
	"fmt"

	"github.com/fettle-dev/fettle/core/services/patch"
)

func ExampleCorrect() {
	const base = "func main() {\n\tprintln(\"hello\")\n}\n"
	// As a model may write it: no file header, invented numbers, and the indentation of the context
	// in spaces.
	diff, err := patch.Parse("@@ -7,1 +7,1 @@\n func main() {\n     println(\"hello\")\n+\tprintln(\"world\")\n }\n")
	if err != nil {
		fmt.Println(err)
		return
	}
	change, err := patch.Correct(base, diff)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range change.Corrections {
		fmt.Println(c.Hunk, c.Kind, c.Lines)
	}
	fmt.Print(change.Unified("a/main.go", "b/main.go"))
	text, err := patch.ApplyStrict(base, change)
	fmt.Println(err, len(text)-len(base))
	// Output:
	// 1 line_numbers [1 3]
	// 1 line_counts [1 3]
	// 1 leading_whitespace [2 2]
	// --- a/main.go
	// +++ b/main.go
	// @@ -1,3 +1,4 @@
	//  func main() {
	//  	println("hello")
	// +	println("world")
	//  }
	// <nil> 18
}
