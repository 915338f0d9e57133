//go:build !unix

package files_test

import (
	"os"
	"testing"

	"github.com/fettle-dev/fettle/integration/memtemp"
)

func TestMain(m *testing.M) { os.Exit(memtemp.Of(m).Run()) }
