package files

// WithHook returns o with a function that is called at each step of a commit. Its error ends the
// commit there as a failing system call would.
func WithHook(o Options, hook func(step string) error) Options {
	o.hook = hook
	return o
}

// RemedyCodes returns the codes and reasons of errors with a remedy of this package.
func RemedyCodes() (all [][2]string) {
	for e := range remedies() {
		all = append(all, [2]string{string(e.Code), string(e.Reason)})
	}
	return all
}
