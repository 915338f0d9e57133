package shell

import (
	"strings"
	"sync"
)

// wrapper describes how a program that runs another one parses its arguments. To
// add a program, add a row.
type wrapper struct {
	names string // separated by blanks

	// short contains the letters of its options: one with a value is followed by
	// ':', one whose value must be attached by "::".
	short string
	// long contains its long options, without dashes: one with a value is
	// followed by '=', one whose value must be attached by "[=]".
	long string
	// single marks programs whose long options have one dash, as with go.
	single bool

	operands  int    // words before the command, such as timeout's duration
	subwords  string // words required before the options, as in "docker run"
	own       bool   // the last of subwords is the program that it runs
	assigns   bool   // NAME=value may precede the command
	transient bool   // it only runs the command, with the same permissions, here
	joins     bool   // a shell reads its words, joined by blanks
	texts     string // options, as in short and long, whose value a shell reads
	programs  string // options whose value is the program that it runs in place of its own
	unclear   string // options that change the command in ways that are not followed
	writes    string // options whose value is an output file
	moves     string // options whose value is the command's working directory
	shell     bool   // without a command it runs a shell
	remote    bool   // the command runs on another machine
}

// wrappers lists the programs that run others, in the behaviour of their common
// versions; an unlisted option makes the command unknown.
var wrappers = []wrapper{
	{names: "nohup setsid", short: "cfwhV", long: "ctty fork wait help version", transient: true},
	{names: "nice", short: "n:0123456789", long: "adjustment= help version", transient: true},
	{names: "time gtime", short: "apvqVo:f:hl", long: "append portability verbose quiet output= format= help version", writes: "o output", transient: true},
	{names: "timeout gtimeout", short: "k:s:vpf", long: "kill-after= signal= verbose preserve-status foreground help version", operands: 1, transient: true},
	{names: "stdbuf", short: "i:o:e:", long: "input= output= error= help version", transient: true},
	{names: "ionice", short: "c:n:tP:p:u:", long: "class= classdata= ignore pid= pgid= uid= help version", transient: true},
	{names: "chrt", short: "abdfimopRrT:P:D:v", long: "all-tasks batch deadline fifo idle max other pid reset-on-fork rr sched-runtime= sched-period= sched-deadline= verbose help version", operands: 1, transient: true},
	{names: "taskset", short: "apc", long: "all-tasks pid cpu-list help version", operands: 1, transient: true},
	{names: "caffeinate", short: "dimsut:w:", transient: true},
	{names: "flock", short: "sxeonuFE:w:c:", long: "shared exclusive unlock nonblock nb no-fork wait= timeout= conflict-exit-code= close command= verbose help version", operands: 1, texts: "c command", transient: true},
	{names: "watch", short: "bcCdd::egn:pq:rs:twxhv", long: "beep color no-color differences[=] errexit chgexit interval= precise equexit= no-rerun no-title no-wrap exec help version", joins: true, transient: true},
	{names: "unbuffer", short: "p", transient: true},
	{names: "chronic ts-node-dev", short: "ve", transient: true},
	{names: "env genv", short: "i0u:C:vS:P:", long: "ignore-environment null unset= chdir= split-string= block-signal[=] default-signal[=] ignore-signal[=] list-signal-handling debug help version", assigns: true, moves: "C chdir", unclear: "P", transient: true},
	{names: "xargs gxargs", short: "0rtxpoa:d:E:e::I:i::J:L:l::n:P:R:S:s:", long: "null no-run-if-empty verbose exit interactive open-tty arg-file= delimiter= eof[=] replace[=] max-lines[=] max-args= max-procs= process-slot-var= max-chars= show-limits help version", transient: true},
	{names: "exec", short: "cla:", transient: true},
	{names: "command", short: "p", transient: true},
	{names: "builtin", transient: true},
	{names: "busybox toybox", transient: true},

	{names: "sudo", short: "AbBEeHhiKklnPSsVvu:g:p:C:c:D:h:R:r:T:t:U:", long: "askpass background bell close-from= preserve-env[=] edit group= set-home help host= login remove-timestamp reset-timestamp list non-interactive preserve-groups prompt= chroot= role= shell stdin type= command-timeout= other-user= user= version validate chdir=", assigns: true, moves: "D chdir", unclear: "e edit", shell: true},
	{names: "doas", short: "nsLC:u:", shell: true},
	{names: "su", short: "c:fg:lmpPs:w:G:hV", long: "command= session-command= fast group= supp-group= login preserve-environment pty shell= whitelist-environment= help version", operands: 1, texts: "c command session-command", programs: "s shell", shell: true},
	{names: "runuser", short: "c:fg:lmpPs:w:G:u:hV", long: "command= session-command= fast group= supp-group= login preserve-environment pty shell= user= whitelist-environment= help version", texts: "c command session-command", programs: "s shell", shell: true},
	{names: "pkexec", long: "version disable-internal-agent help user= keep-cwd", shell: true},
	{names: "run0 systemd-run", short: "dGH:M:PSp:qrtu:E:", long: "scope user system unit= property= description= slice= slice-inherit remain-after-exit send-sighup service-type= uid= gid= nice= working-directory= same-dir setenv= pty pipe quiet on-active= on-boot= on-startup= on-unit-active= on-unit-inactive= on-calendar= timer-property= path-property= socket-property= collect wait no-block no-ask-password help version shell", moves: "working-directory", shell: true},
	{names: "ssh", short: "46AaCfGgKkMNnqsTtVvXxYyB:b:c:D:E:e:F:I:i:J:L:l:m:O:o:p:P:Q:R:S:W:w:", operands: 1, joins: true, remote: true, unclear: "F I o", writes: "E"},
	{names: "mosh", long: "client= server= predict= port= ssh= family= no-init local experimental-remote-ip=", operands: 1, remote: true, programs: "client server ssh"},
	{names: "script", short: "aefqTt::E:B:I:O:c:o:m:hV", long: "append command= echo= flush force log-in= log-out= log-io= logging-format= output-limit= quiet return timing[=] help version", texts: "c command", writes: "I O B log-in log-out log-io", unclear: "T"},
	{names: "chroot", long: "userspec= groups= skip-chdir help version", operands: 1, remote: true, shell: true},
	{names: "nsenter", short: "aFt:m::u::i::n::p::C::U::T::S:G:r::w::eZW:", long: "all target= mount[=] uts[=] ipc[=] net[=] pid[=] cgroup[=] user[=] time[=] setuid= setgid= root[=] wd[=] wdns= no-fork preserve-credentials env user-parent follow-context help version", remote: true, shell: true},
	{names: "unshare", short: "m::u::i::n::p::U::C::T::fRrcw:S:G:l:", long: "mount[=] uts[=] ipc[=] net[=] pid[=] user[=] cgroup[=] time[=] fork mount-proc[=] map-user= map-group= map-root-user map-current-user map-auto map-users= map-groups= propagation= setgroups= keep-caps root= wd= setuid= setgid= kill-child[=] boottime= monotonic= load-interp= help version", remote: true, shell: true},
	{names: "strace", short: "a:b:CcdDfFhikI:nN:o:O:p:P:qrs:S:tTu:U:vVwxXyYzZE:e:", long: "output= follow-forks summary trace= env= help version quiet verbose= seccomp-bpf stack-traces decode-fds[=]", writes: "o output", unclear: "E env"},
	{names: "ltrace", short: "a:A:bcCD:e:fF:hiL:l:n:o:p:rs:StTu:Vw:x:X:", long: "output= library= config= help version", writes: "o output", unclear: "F"},
	{names: "perf", subwords: "stat|record|trace", short: "aBcCde:F:gGi:I:io:p:r:st:vx:", unclear: "c", writes: "o"},
	{names: "valgrind", short: "qvhd", long: "tool= leak-check= log-file= xml-file= suppressions= track-origins= show-leak-kinds= error-exitcode= trace-children= num-callers= quiet verbose", writes: "log-file xml-file"},
	{names: "cpulimit", short: "l:p:e:P:zibkmqvhs:", long: "limit= pid= exe= path= lazy include-children help verbose"},
	{names: "firejail", single: true, long: "quiet private net= noprofile seccomp"},
	{names: "torsocks proxychains proxychains4 tsocks", short: "qf:iu:p:", long: "quiet isolate user= pass= address= port= shell", unclear: "f", shell: true},
	{names: "dbus-run-session dbus-launch", long: "config-file= dbus-daemon= help version exit-with-session sh-syntax", programs: "dbus-daemon"},
	{names: "xvfb-run", short: "ae:f:hln:p:s:w:", long: "auto-servernum auto-display error-file= auth-file= help listen-tcp server-num= xauth-protocol= server-args= wait=", writes: "e error-file f auth-file"},
	{names: "entr", short: "acdnprsxz"},
	{names: "fakeroot fakechroot", short: "l:f:i:s:ubhv", long: "lib= faked= save-file help version", programs: "l lib f faked", writes: "s"},
	{names: "setarch linux32 linux64 i386 x86_64", short: "BFILRSTXZhV", long: "32bit fdpic-funcptrs short-inode addr-compat-layout addr-no-randomize whole-seconds sticky-timeouts read-implies-exec mmap-page-zero 3gb 4gb uname-2.6 verbose help version"},
	{names: "arch", short: "", long: "x86_64 x86_64h arm64 arm64e i386 ppc ppc64 32 64 c arch= d= e= h help version", single: true, unclear: "d e", transient: true},
	{names: "prlimit", short: "c::d::e::f::i::l::m::n::q::r::s::t::u::v::x::y::p:o:", long: "core[=] data[=] fsize[=] nofile[=] nproc[=] stack[=] cpu[=] as[=] pid= noheadings raw verbose"},
	{names: "numactl", short: "aC:i:m:N:p:lHs", long: "all physcpubind= interleave= membind= cpunodebind= preferred= localalloc hardware show"},
	{names: "capsh setpriv softlimit chpst envdir envuidgid setuidgid setlock dumb-init tini catchsegv rlwrap socat ncat sem sg newgrp daemonize start-stop-daemon bwrap parallel-ssh pssh pdsh ansible", unclear: "*"},
	{names: "hyperfine", short: "w:m:M:r:s:p:c:S:Niu:n:", long: "warmup= min-runs= max-runs= runs= setup= prepare= cleanup= conclude= shell= ignore-failure style= export-json= export-markdown= export-csv= show-output output= input= command-name= time-unit= parameter-scan= parameter-list=", texts: "s setup p prepare c cleanup conclude", programs: "S shell", writes: "export-json export-markdown export-csv output"},
	{names: "watchexec", short: "w:e:f:i:crd:s:", long: "watch= exts= filter= ignore= clear restart debounce= shell=", programs: "shell", joins: true},
	{names: "nodemon", short: "w:e:i:qVd:", long: "watch= ext= ignore= quiet verbose delay= exec=", texts: "exec"},
	{names: "direnv", subwords: "exec", operands: 1},
	{names: "nix-shell", short: "p:", long: "run= command= pure packages=", texts: "run command", unclear: "*"},
	{names: "dotenv dotenvx", short: "e:f:", subwords: "run", long: "file="},
	{names: "doppler chamber aws-vault op", unclear: "*"},

	{names: "npx", short: "yqp:c:w:", long: "yes no quiet package= call= workspace= workspaces prefer-offline no-install ignore-existing", texts: "c call"},
	{names: "bunx", short: "", long: "bun silent verbose"},
	{names: "npm", subwords: "exec|x", short: "yp:c:w:", long: "yes package= call= workspace= workspaces", texts: "c call"},
	{names: "npm", subwords: "run|run-script|rum|urn env", own: true},
	{names: "npm", subwords: "explore", operands: 1, shell: true},
	{names: "pnpm", subwords: "dlx|exec", short: "crw:", long: "package= shell-mode recursive parallel", unclear: "c shell-mode"},
	{names: "yarn", subwords: "dlx|exec", short: "p:q", long: "package= quiet"},
	{names: "bun", subwords: "x", long: "bun"},
	{names: "deno", subwords: "task", unclear: "*"},
	{names: "poetry pipenv rye pdm", subwords: "run", short: "nqv", long: "no-interaction quiet verbose"},
	{names: "hatch", subwords: "run"},
	{names: "uv", subwords: "run", short: "p:qvn", long: "python= with= with-requirements= extra= group= no-sync frozen locked isolated quiet verbose no-project project= env-file= directory= module no-dev all-extras", unclear: "module m", moves: "directory"},
	{names: "uvx pipx", short: "p:q", long: "from= with= python= quiet spec="},
	{names: "bundle", subwords: "exec", long: "keep-file-descriptors gemfile="},
	{names: "rustup", subwords: "run", long: "install", operands: 1},
	{names: "conda mamba micromamba", subwords: "run", short: "n:p:v", long: "name= prefix= no-capture-output live-stream verbose cwd=", moves: "cwd"},
	{names: "mise rtx asdf", subwords: "exec|x", unclear: "*"},
	{names: "docker podman nerdctl", subwords: "exec", short: "diteu:w:", long: "detach interactive tty env= env-file= user= workdir= privileged detach-keys=", operands: 1, remote: true, unclear: "e"},
	{names: "docker podman nerdctl", subwords: "container exec", short: "diteu:w:", long: "detach interactive tty env= env-file= user= workdir= privileged detach-keys=", operands: 1, remote: true, unclear: "e"},
	{names: "docker podman nerdctl", subwords: "run|create", short: "ditPe:v:w:p:u:h:l:m:a:c:", long: "detach interactive tty rm init privileged read-only publish-all env= env-file= volume= workdir= publish= user= hostname= name= network= net= mount= label= memory= cpus= platform= pull= add-host= cap-add= cap-drop= entrypoint= security-opt= tmpfs= ulimit= gpus= device= restart= ipc= pid= shm-size= userns= dns=", operands: 1, remote: true, programs: "entrypoint"},
	{names: "docker podman nerdctl", subwords: "container run|create", short: "ditPe:v:w:p:u:h:l:m:a:c:", long: "detach interactive tty rm init privileged read-only publish-all env= env-file= volume= workdir= publish= user= hostname= name= network= net= mount= label= memory= cpus= platform= pull= add-host= cap-add= cap-drop= entrypoint= security-opt= tmpfs= ulimit= gpus= device= restart= ipc= pid= shm-size= userns= dns=", operands: 1, remote: true, programs: "entrypoint"},
	{names: "docker podman nerdctl", subwords: "compose exec|run", short: "dTiqPte:u:w:p:v:l:", long: "rm detach no-deps no-TTY no-tty interactive[=] tty privileged build quiet quiet-pull quiet-build remove-orphans service-ports use-aliases entrypoint= env= env-from-file= user= workdir= index= name= volume= publish= label= cap-add= cap-drop= pull=", operands: 1, remote: true, programs: "entrypoint"},
	{names: "docker-compose podman-compose", subwords: "exec|run", short: "dTiqPte:u:w:p:v:l:", long: "rm detach no-deps no-TTY no-tty interactive[=] tty privileged build quiet quiet-pull quiet-build remove-orphans service-ports use-aliases entrypoint= env= env-from-file= user= workdir= index= name= volume= publish= label= cap-add= cap-drop= pull=", operands: 1, remote: true, programs: "entrypoint"},
	{names: "kubectl oc", subwords: "exec", short: "itc:n:qf:", long: "stdin[=] tty[=] container= namespace= quiet[=] context= pod-running-timeout= filename=", operands: 1, remote: true},
	{names: "kubectl oc", subwords: "run", short: "itn:ql:", long: "stdin[=] tty[=] rm[=] image= image-pull-policy= restart= namespace= context= env= labels= port= expose[=] command[=] attach[=] quiet[=] dry-run[=] privileged[=] annotations= pod-running-timeout= timeout= wait[=]", operands: 1, remote: true},
	{names: "kubectl oc", subwords: "debug", short: "itc:n:q", long: "stdin[=] tty[=] image= image-pull-policy= target= container= namespace= context= copy-to= share-processes[=] same-node[=] replace[=] attach[=] quiet[=] env= profile= set-image= keep-labels[=]", operands: 1, remote: true},
	{names: "oc", subwords: "rsh", short: "c:n:T", long: "container= namespace= shell= no-tty[=] tty[=] timeout=", operands: 1, remote: true, programs: "shell"},
	{names: "crictl", subwords: "exec", short: "itsr:", long: "interactive tty sync timeout=", operands: 1, remote: true},
	{names: "multipass", subwords: "exec", short: "nd:", long: "working-directory= no-map-working-directory", operands: 1, remote: true},
	{names: "devcontainer distrobox toolbox limactl lima colima minikube wsl runc ctr systemd-nspawn proot eb", unclear: "*"},
	{names: "heroku gcloud flyctl fly", subwords: "run", unclear: "*"},
	{names: "gcloud", subwords: "compute ssh", unclear: "*"},
	{names: "flyctl fly", subwords: "ssh|machine|console", unclear: "*"},
	{names: "flatpak snap", subwords: "run", unclear: "*"},
	{names: "podman", subwords: "unshare|machine", unclear: "*"},
	{names: "eatmydata ccache sccache distcc icecc", transient: true},
	{names: "cross-env cross-env-shell env-cmd", assigns: true},
	{names: "libtool scan-build bear heaptrack uftrace kcov concurrently chokidar onchange run-parts", unclear: "*"},
	{names: "faketime", short: "mf", long: "exclude-monotonic", operands: 1, transient: true},
	{names: "sshpass autossh check_by_ssh ts tsp nq fq pueue expect-lite logsave withenv with-contenv s6-setuidgid gosu su-exec tini-static cgexec systemd-cat systemd-inhibit", unclear: "*"},
	{names: "vagrant", subwords: "ssh", short: "c:p", long: "command= plain", texts: "c command", remote: true},
	{names: "lxc incus", subwords: "exec", long: "env= user= group= cwd= mode= force-interactive", operands: 1, remote: true},
	{names: "machinectl", subwords: "shell", operands: 1, remote: true, unclear: "*"},
	{names: "ip", subwords: "vrf exec", operands: 1},
	{names: "ip", subwords: "-all|-al|-a netns exec", remote: true},
	{names: "ip", subwords: "netns exec", operands: 1, remote: true},
}

// rowsOf returns the rows for a program. The table is parsed once.
var rowsOf = sync.OnceValue(func() map[string][]*wrapper {
	rows := map[string][]*wrapper{}
	for _, row := range wrappers {
		for name := range strings.FieldsSeq(row.names) {
			rows[name] = append(rows[name], &row)
		}
	}
	return rows
})
