package scheduler

import "github.com/fettle-dev/fettle/core/policy"

// InMemory returns a Policy that keeps approvals in an engine only.
func InMemory(e *policy.Engine) Policy { return inMemory{e} }
