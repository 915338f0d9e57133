package keychain

import (
	"os"
	"strconv"
)

// offered reports whether a session bus is running. The bus library would otherwise start
// one. An empty variable disables the keychain.
func offered() bool {
	if address, set := os.LookupEnv("DBUS_SESSION_BUS_ADDRESS"); set {
		return address != "" && address != "autolaunch:" && address != "disabled:"
	}
	info, err := os.Stat("/run/user/" + strconv.Itoa(os.Getuid()) + "/bus")
	return err == nil && info.Mode()&os.ModeSocket != 0
}
