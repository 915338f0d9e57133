package discovered

import (
	"fmt"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy/shell"
)

// Words splits the command line of a setting into a program and its arguments, like [shell.Words]. The error has code
// invalid_config and names the setting.
func Words(setting, line string) ([]string, error) {
	list, err := shell.Words(line)
	if err != nil {
		return nil, fault.New(fault.InvalidConfig, "discovered.words",
			fmt.Sprintf("The setting %s is %.200q, which cannot be run: %v.", setting, line, err),
			"Use a program and its arguments, quoted if needed; put anything else into a script.")
	}
	return list, nil
}
