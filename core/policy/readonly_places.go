package policy

// programPlaces are the directories of the system's programs.
var programPlaces = []string{"/usr", "/bin", "/sbin", "/nix/store", "/opt/homebrew", "/opt/local"}

// readablePlaces are directories of the system that read-only commands may read:
// they contain programs, their documentation and the state of the machine.
var readablePlaces = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/opt/homebrew", "/opt/local", "/System/Library", "/Library/Developer",
	"/etc/alternatives", "/etc/ld.so.conf.d", "/etc/profile.d", "/etc/fonts", "/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/skel", "/etc/terminfo",
	"/sys/fs/cgroup", "/sys/devices/system/cpu", "/sys/devices/system/node", "/proc/sys/kernel", "/proc/sys/vm", "/proc/sys/fs", "/proc/pressure",
}

// readableFiles are single files of the system that they may read.
var readableFiles = wordList(`
	/dev/null /dev/zero /dev/random /dev/urandom /dev/stdin /dev/fd/0
	/etc/os-release /etc/lsb-release /etc/debian_version /etc/alpine-release /etc/redhat-release /etc/fedora-release /etc/system-release /etc/issue
	/etc/hosts /etc/hostname /etc/host.conf /etc/resolv.conf /etc/nsswitch.conf /etc/services /etc/protocols /etc/networks /etc/passwd /etc/group
	/etc/localtime /etc/timezone /etc/locale.conf /etc/locale.gen /etc/default/locale /etc/shells /etc/profile /etc/bash.bashrc /etc/inputrc /etc/fstab /etc/mtab
	/etc/ld.so.conf /etc/ld.so.cache /etc/mime.types /etc/magic /etc/machine-info /etc/manpath.config /etc/login.defs
	/proc/cpuinfo /proc/meminfo /proc/version /proc/loadavg /proc/uptime /proc/stat /proc/filesystems /proc/mounts /proc/self/mounts /proc/swaps
	/proc/partitions /proc/vmstat /proc/devices /proc/modules /proc/self/limits /proc/self/status /proc/self/cgroup
`)

// plainVariables are variables of the environment that are known not to hold
// secrets.
var plainVariables = wordList(`
	HOME PWD OLDPWD USER LOGNAME SHELL TERM COLORTERM LANG LANGUAGE TZ PATH TMPDIR TMP TEMP HOSTNAME HOSTTYPE OSTYPE MACHTYPE UID EUID PPID GROUPS SHLVL
	RANDOM SRANDOM SECONDS LINENO EPOCHSECONDS EPOCHREALTIME BASH BASHPID BASHOPTS SHELLOPTS BASH_VERSION BASH_VERSINFO BASH_SOURCE BASH_LINENO
	BASH_SUBSHELL BASH_REMATCH FUNCNAME PIPESTATUS REPLY MAPFILE COPROC DIRSTACK IFS OPTARG OPTIND OPTERR COLUMNS LINES _ PS4
	EDITOR VISUAL PAGER CI DEBUG VERBOSE NO_COLOR DISPLAY VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV PYTHONPATH NODE_ENV NODE_PATH NVM_DIR JAVA_HOME
	GOPATH GOROOT GOBIN GOOS GOARCH GOCACHE GOMODCACHE GOTMPDIR GOMAXPROCS CGO_ENABLED CARGO_HOME RUSTUP_HOME PYENV_ROOT RBENV_ROOT SDKMAN_DIR HOMEBREW_PREFIX
	CC CXX CFLAGS CXXFLAGS LDFLAGS PKG_CONFIG_PATH LD_LIBRARY_PATH MAKEFLAGS FETTLE_CLI
`)
