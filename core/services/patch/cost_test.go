package patch

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestCostLookalikes limits the time for look-alikes in many equal lines, which was half a minute.
func TestCostLookalikes(t *testing.T) {
	base := strings.Repeat("it’s — “so” …\n", 100_000)
	var d strings.Builder
	for i := range 200 {
		d.WriteString(fmt.Sprintf("@@ -%d,7 +%d,7 @@\n", 10+450*i, 10+450*i))
		old := "it's -- \"so\" ...\n"
		d.WriteString(strings.Repeat(" "+old, 3) + "-" + old + "+new\n" + strings.Repeat(" "+old, 3))
	}
	start := time.Now()
	if _, _, err := run(base, d.String()); err == nil {
		t.Error("accepted")
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("took %v", took)
	}
}
