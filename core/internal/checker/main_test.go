package checker_test

import (
	"flag"
	"os"
	"testing"
)

// Many tests run in parallel, because they wait for programs that hang.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
