// Package stress puts complete sessions under load: random end-to-end patches,
// processes that race for one file, kills at random moments, and many concurrent
// calls. FETTLE_FULL=1 runs the large numbers.
package stress

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// number returns the number of rounds: few, or full with FETTLE_FULL, and less than
// few under the race detector, which is several times slower.
func number(few, full int) int {
	switch {
	case os.Getenv("FETTLE_FULL") == "1":
		return full
	case raceDetector:
		return few / 4
	}
	return few
}

// agent is a session from the view of a model: it knows only the results of its
// calls.
type agent struct {
	config *config.Config
	calls  *scheduler.Scheduler
}

func newAgent(dir, home string, change ...func(*config.Parameters)) (*agent, error) {
	p := config.Parameters{TargetDir: dir, Environment: config.Environment{HomeDir: home}, Policy: config.Policy{ApprovalMode: policy.ModeYolo}}
	for _, f := range change {
		f(&p)
	}
	c, err := config.New(p)
	if err != nil {
		return nil, err
	}
	if err := c.Initialize(context.Background()); err != nil {
		return nil, err
	}
	calls, err := c.Scheduler()
	return &agent{c, calls}, err
}

func (a *agent) call(tool string, args any) scheduler.Response {
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return a.calls.Run(context.Background(), scheduler.Request{Tool: tool, Args: raw})
}

// read reads a whole file, including content that was shown before.
func (a *agent) read(name string) (filestate.State, error) {
	r := a.call("read_file", map[string]any{"file_path": name, "offset": 0, "limit": 2000})
	var s filestate.State
	if r.Status != scheduler.StatusSuccess {
		return s, r.Result.Error
	}
	err := json.Unmarshal([]byte(r.Result.LLMContent.String()), &s)
	return s, err
}

// patch applies a diff and returns the report, which every outcome has, and the
// response.
func (a *agent) patch(name, diff, base string) (file.Report, scheduler.Response, error) {
	r := a.call("safe_patch", file.SafePatchParams{FilePath: name, UnifiedDiff: diff, BaseContentSHA256: base})
	var report file.Report
	if err := json.Unmarshal([]byte(r.Result.LLMContent.String()), &report); err != nil {
		return report, r, fmt.Errorf("%s: %w", r.Result.LLMContent.String(), err)
	}
	if report.Success != (r.Status == scheduler.StatusSuccess) {
		return report, r, fmt.Errorf("success is %v in a call of status %s", report.Success, r.Status)
	}
	return report, r, nil
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
