package policy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
)

// guard returns an engine in which everything is allowed, including redirections,
// except for one denied pattern. The pattern is a commandRegex, or with "args "
// before it an argsPattern.
func guard(t testing.TB, pattern string) *policy.Engine {
	t.Helper()
	deny := policy.Rule{Tools: []string{"run_shell_command"}, Decision: policy.Deny, Priority: 900, Tier: policy.TierUser, Source: "test"}
	if args, ok := strings.CutPrefix(pattern, "args "); ok {
		deny.ArgsPattern = args
	} else if prefix, ok := strings.CutPrefix(pattern, "prefix "); ok {
		deny.CommandPrefix = []string{prefix}
	} else {
		deny.CommandRegex = pattern
	}
	allow := policy.Rule{Tools: []string{"run_shell_command"}, Decision: policy.Allow, Priority: 1, AllowRedirection: true, Tier: policy.TierUser, Source: "test"}
	e, err := policy.NewEngine(policy.Options{Rules: []policy.Rule{deny, allow}})
	require.NoError(t, err)
	return e
}

// AR-26: a pattern that denies is searched in every spelling of each part and in
// the line as written. Unknown text requires approval only if it could complete a
// match that known words have begun.
func TestPatternsMeetSpellings(t *testing.T) {
	const allow, ask, deny = policy.Allow, policy.AskUser, policy.Deny
	for pattern, lines := range map[string]map[string]policy.Verdict{
		"rm -rf": {
			"rm -rf x": deny, "/bin/rm -rf x": deny, "../bin/rm -rf x": deny, "r''m '-rf' x": deny, "sudo /bin/rm -rf x": deny, "env -u A nice rm -rf x": deny,
			"2>/dev/null rm -rf x": deny, ">o rm -rf x": deny, "rm 2>e -rf x": deny, "ls; (cd x && rm -rf y)": deny, "echo $(rm -rf x)": deny, "f() { rm -rf x; }; f": deny,
			"sh <<E\nrm -rf x\nE": deny, "RM -rf x": deny, "rm.exe -rf x": deny, "foo rm -rf x": ask, "foo -c 'cd y; rm -rf x'": ask, "xargs foo rm -rf": ask, "foo 'rm -rf x'": ask,
			"rm -fr x": ask, "rm -r -f x": ask, "rm x -rf": ask, "rm -rvf x": ask, "rm --recursive --force x": ask, "rm -R --forc x": ask, `rm "$o" x`: ask, "rm -r$x y": ask, "x=-rf; rm $x y": ask,
			"/???/rm -rf x": ask, "r? -rf x": ask, "$x -rf": ask, "rm --r --f x": ask, "rm -R --f x": ask, "rm --r x": allow, "rm -r x": allow, "rm x": allow, `rm -i "$x" "$y"`: ask, "rmdir -rf": allow, `ls "$x"`: allow, "echo rm -rf x": allow, "rm -f $((1+2))": allow,
		},
		".*rm .*-rf?.*": {
			"rm -rf x": deny, "sudo rm -r x": deny, "/bin/rm -r x": deny, `echo "$x"`: allow, `rm "$x"`: ask, `for f in *.go; do wc -l "$f"; done`: allow, `git commit -m "$(cat a)"`: allow,
			"r''m -r x": deny, "rm -- x": allow, "x=1; echo $x": allow, `r"$x" -rf`: ask, "rm $((1+1))": allow, "rm *": ask, "ls *": allow, "rm -fr x": ask, "rm -f -r x": deny, "rm --recursive x": deny,
		},
		".*--force.*": {
			"git push --force": deny, "git push -''-force": deny, "git push --forc": ask, "git push --f": ask, "git push --follow-tags --f": ask, "git push --f=x": ask, "git push --n": allow, "git push origin +main": ask, "git push -f": ask, `echo "$x"`: allow, "git push $(cat f)": ask, `git push origin "$b"`: allow,
			"f=--fo; git push ${f}rce": ask, "f=rce; git push --fo$f": ask, "f=--forc g=e; git push $f$g$h": ask, "git push --fo${x}": ask, "git push --follow-tags": allow, `git log --author="$x"`: allow, "ls *": allow,
		},
		"git push": {
			"git push": deny, "git -C x push": deny, "git -c a.b=c --no-pager push": deny, "git --git-dir=x push": deny, "/usr/bin/git -C x push": deny, "git  push": deny, "git $x": ask, "git -C $x push": deny,
			"git log push": allow, `git log "$x"`: allow, `git -C "$x" log`: ask, "git log": allow, "timeout 5 git -C x push": deny, "p=push; git $p": ask, "git --unknown x push": ask,
		},
		"kubectl delete": {"kubectl -n a delete pod": deny, "kubectl --context=x --namespace y delete z": deny, "kubectl get -n delete": allow, "kubectl --as x -v 3 delete y": ask},
		"docker rm":      {"docker --context x rm y": deny, "docker -H a container rm y": deny, "docker ps": allow},
		"npm install":    {"npm i x": deny, "npm --prefix d i x": deny, "npm ci": allow, "npm add x": deny},
		"pip install":    {"pip install x": deny, "python3 -mpip install x": deny, "python3 -B -Wignore -m pip install x": deny, "python3 -mpip list": allow, "python3 -mvenv pip install": allow},
		"python3 -m pip": {"python3 -mpip install x": deny, "/usr/bin/python3 -Bmpip list": deny, "python3 -mvenv x": allow},
		`cat .*\.env`: {
			"cat .env": deny, "cat < .env": deny, "cat <'.e'nv": deny, "< .env cat": deny, "{ cat; } < .e''nv": deny, "bash -c cat < '.env'": deny, "sudo cat <.env": deny, `cat "$f"`: ask, `wc -l "$f"`: allow,
			"cat .e*": ask, "f=.env; cat < $f": ask, "f=.en; cat < ${f}v": ask, "cat x < $((1)).md": allow,
		},
		`.*> ?/etc/.*`: {
			"echo x > '/etc/'y": deny, "echo x >/etc/y": deny, "echo x >> /e\"tc\"/y": deny, "{ echo x; } >| /etc/y": deny, "> '/etc/y'": deny, "echo x 2>\\/etc/y": deny, "cat /etc/y": allow, "echo x > out": allow,
		},
		`curl .*\| *(ba)?sh`: {
			"curl x | sh": deny, "cu''rl x | 's'h": deny, "cd y; /usr/bin/curl x | sudo sh": deny, "curl x | tee y | bash": deny, "curl x | env A=1 bash -s y": deny, "(cd y; curl x) | sh": deny, "curl x | jq .": allow, "curl x > y": allow,
		},
		`args "command":"rm -rf`: {
			"rm -rf x": deny, "/bin/rm -rf x": deny, "ls; r''m -rf x": deny, "sudo rm -rf x": deny, "rm -fr x": ask, `rm "$x"`: ask, `ls "$x"`: allow, "$x": ask, "foo rm -rf x": ask,
		},
		"args secret":               {"cat se''cret": deny, "cat < sec\"ret\"": deny, `cat "$x"`: allow, "cat sec$x": ask, "x=sec; cat ${x}ret": ask, "x=secret; cat $x": deny},
		`args \x00"command":"make"`: {"make": deny, "/usr/bin/make": deny, "make x": allow, "make $x": ask, "ls && make": deny},
		`.*"-x".*`:                  {`foo "-x"`: deny, "foo -x": allow, `ls; foo "-x"`: deny},
		`foo "-x"`:                  {`ls; foo "-x"`: deny, `/bin/foo "-x"`: deny, `sudo foo "-x" >o`: allow},
		"prefix wget":               {"echo `w\\`\\`get x`": ask, "w``get x": ask, "xargs foo wget": ask, "foo 'cd y; wget x'": ask, "p=wget; foo $p": ask},
		`.*git.*reset.*--hard.*`: {
			`git log "$x"`: allow, `git commit -m "$(cat a)"`: allow, "git $x": ask, `git "$x" "$y"`: ask, `git reset "$x"`: ask, `git "$x" --hard`: ask, "git log $x": ask, "git -C . reset --hard": deny, `git diff "$x"..HEAD --stat`: allow,
		},
		".*git.*push.*": {
			`git log "$x"`: allow, `git "$x"`: ask, `git -C "$x" push`: deny, `git -C "$x" log`: ask, `git pu"$x"`: ask, `git $x log`: ask, `git -C $x log`: ask, "git add *.go": allow, "git log $((1))": allow, `git --no-pager "$x"`: ask,
		},
		"git reset --hard$":      {"git reset --h": ask, "git reset --soft": allow, "git reset --s": allow},
		"foo.*--hard=x":          {"foo --ha=x": ask, "foo --h=x": ask, "foo --h=y": allow},
		"rm --recursive --force": {"rm --r --f x": ask, "rm --rec --for x": ask, "rm --r x": allow},
		"git.*--force( |$)":      {"git push --follow-tags --f": ask, "git push --force-with-lease": allow},
		"git.*--force":           {`git push "$x"`: ask, "git push -f": ask, `git "$x" -f`: ask},
		"git push.*main":         {`git push origin "$b"`: ask, `git push "$r" main`: deny, `git pull origin "$b"`: allow, "git push origin $((1))": allow},
		`make$`:                  {"make": deny, "make x": allow, "make -j4": allow, "make > o": deny, "make $x": ask},
		`(?i).*DROP TABLE.*`:     {`psql -c "drop table x"`: deny, `psql -c "$q"`: allow, `psql -c "drop $q"`: ask},
		`(rm|shred)\b`:           {"/bin/rm x": deny, "shredder": allow, `ls "$x"`: allow, "sudo shred x": deny, "foo shred x": ask},
		`.*\brm\b.*`:             {"ls | xargs rm": deny, `grep -r "$x" .`: allow, "git rm x": deny, `echo "$(date)"`: allow, "rm$IFS-r": deny, "echo r$x": ask},
	} {
		e := guard(t, pattern)
		for line, want := range lines {
			if d := decide(t, e, line, policy.ModeDefault); d.Decision != want {
				t.Errorf("%s: %q is %s, want %s: %s", pattern, line, d.Decision, want, d.Reason)
			}
		}
	}
}

// usual are patterns that are often denied.
var usual = []string{
	"rm -rf", `rm\s+(-[a-zA-Z]*[rf]|--recursive|--force)`, `.*rm\s+-[a-z]*r.*`, `.*\brm\b.*-rf.*`, "git push.*(--force|-f)", ".*git push.*", ".*--force.*", ".*--no-verify.*", "git (push|clean|rebase)", ".*git.*reset.*--hard.*",
	"sudo", ".*sudo.*", `(sudo|doas|su)( |$)`, `curl.*\|.*sh`, `.*(curl|wget).*\|\s*(ba)?sh.*`, `.*\b(curl|wget|nc)\b.*`, `.*/etc/(passwd|shadow).*`, `.*\.env\b.*`, ".*id_rsa.*", `.*\.ssh/.*`, ".*secret.*", ".*password.*",
	"chmod -R", ".*chmod.*777.*", ".*mkfs.*", "dd .*of=/dev/", ".*> ?/dev/sd.*", ".*shutdown.*|.*reboot.*", `.*\bkill(all)?\b.*-9.*`, "npm publish", "(npm|pip|yarn) install", "docker (rm|rmi|system prune)", ".*kubectl delete.*", "terraform (apply|destroy)",
	".*DROP TABLE.*", `.*:\(\)\s*\{.*`, ".*eval .*", ".*base64 (-d|--decode).*", `.*python3? -c.*`, ".*--privileged.*", ".*/var/run/docker.sock.*", `args "command":"rm`, "args --force", "args api[_-]?key", "args production",
}

// AR-25: under rules that deny the usual commands, everyday lines run without
// approval, including those with variables.
func TestEverydayUnderPatterns(t *testing.T) {
	lines := listed(t, "everyday.txt")
	var deny []policy.Rule
	for _, pattern := range usual {
		r := policy.Rule{Tools: []string{"run_shell_command"}, Decision: policy.Deny, Priority: 950, CommandRegex: pattern, Tier: policy.TierUser, Source: "test"}
		if args, ok := strings.CutPrefix(pattern, "args "); ok {
			r.CommandRegex, r.ArgsPattern = "", args
		}
		deny = append(deny, r)
	}
	e, err := policy.NewEngine(policy.Options{Rules: append(corpusRules(t), deny...)})
	require.NoError(t, err)
	var asked []string
	for _, line := range lines {
		if d := decide(t, e, line, policy.ModeDefault); d.Decision != policy.Allow {
			asked = append(asked, string(d.Decision)+" "+line+": "+d.Rule)
		}
	}
	t.Logf("%d of %d:\n%s", len(asked), len(lines), strings.Join(asked, "\n"))
	require.LessOrEqual(t, 100*len(asked), 3*len(lines), asked)
}
