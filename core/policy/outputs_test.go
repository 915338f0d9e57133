package policy_test

import (
	"github.com/stretchr/testify/require"

	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/fettle-dev/fettle/core/policy"
)

// writers returns a rule that allows the programs of the following lines.
func writers() policy.Rule {
	return policy.Rule{
		Tools: []string{"run_shell_command"}, Decision: policy.Allow, Priority: 100, Tier: policy.TierUser, Source: "test",
		CommandPrefix: []string{
			"tee", "go build", "go test", "cp", "mv", "install", "ln", "sed", "dd", "tar", "unzip", "curl", "git clone", "git checkout", "git add",
			"git commit", "git worktree", "git apply", "git status", "patch", "rsync", "touch", "mkdir", "chmod", "rm", "truncate", "find", "xargs",
			"sort", "cat", "echo", "make", "gofmt", "npx", "prettier", "eslint", "ls", "foo", "zip", "sudo", "grep", "rg", "bash", "gcc", "scp", "git diff", "perl", "git config", "awk", "wget", "tsc", "git restore", "git rm", "git mv", "parallel", "busybox", "exec",
			"aria2c", "gzip", "gunzip", "bunzip2", "xz", "unxz", "zstd", "unzstd", "lz4", "uncompress", "lzop", "pigz", "fd", "shopt", "export",
		},
		AllowRedirection: true,
	}
}

// AR-26, CF-09: no rule that allows a command covers a protected path, however
// the command writes it.
func TestProtectedOutputs(t *testing.T) {
	e := engine(t, writers())
	links := map[string]string{"/w/h": "/w/.git/hooks", "/w/h/pre-commit": "/w/.git/hooks/pre-commit", "/w/conf": "/w/.git/config", "/w/h/x": "/w/.git/hooks/x"}
	for _, line := range []string{
		"echo x > .git/hooks/pre-commit", "echo x >| .git/config", "echo x >> .envrc", "echo x &> AGENTS.md", "echo x > sub/.HUSKY/pre-push",
		"tee .git/config", "tee -a .git/config < x", "tee a.txt .git/config", "tee 'AGENTS.md'", `tee ".g"it/config`, "tee .GIT/config", "tee sub/../.git/config",
		"echo x | tee -a -- .envrc", "tee h/pre-commit", "tee conf", "tee ./conf", "cd .git && tee config", "cd .git/hooks; tee pre-commit", "cd sub && tee ../.env.local",
		"d=.git; tee $d/config", "for f in a .envrc; do tee $f; done", `tee "$x/.git/config"`, `tee "$x"`, "tee $(cat name)", "tee .g*/config", "tee .en?rc", "tee AGENT*",
		"tee /w/.git/config", "tee ~/.bashrc", "tee ~/.ssh/authorized_keys", "tee /home/u/.config/fish/config.fish",
		"f() { tee \"$1\"; }; f .git/config", "xargs tee", "echo .git/config | xargs tee", "echo x | xargs -I{} tee .git/{}", "find . -name config -exec tee {} +",
		"find .git -name config -exec chmod 777 {} +", "find . -name .envrc -exec truncate -s 0 {} ;", "timeout 5 tee .git/config", "env A=1 tee .git/config", "nohup tee .envrc",
		"sudo tee .git/config", "bash -c 'tee .git/config'", "(tee .git/config)", "{ tee .git/config; }", "tee >(cat) .git/config", "/usr/bin/tee .git/config",
		"go build -o .git/hooks/x", "go build -o=.git/hooks/x", "go build -o .git/hooks/ ./...", "go build -o h/x", "go test -c -o .git/hooks/x", "cd .git/hooks && go build",
		"gcc x.c -o.git/hooks/x", "gcc -Wl,-o,.git/hooks/x x.c",
		"cp x .git/hooks/pre-commit", "cp -t .git/hooks pre-commit", "cp --target-directory=.git/hooks x", "cp --target .git/hooks x", "cp -at.git/hooks x", "cp -r evil/.git sub", "cp .envrc sub/",
		"cp x h/", "cp -l .git/config x", "cp --symbolic-link .git/config x", `cp x "$d"`, "cp -v x AGENTS.md", "cp x y .vscode", "cp -r evil/. .", "cp -a evil/. /w", "cp -rT evil .", "rsync -a evil/ ./", "cp -r evil/.* .", "cp -r evil/.g* sub", "install -Dm755 x .git/hooks/x", "cp x -t .git/hooks",
		`ln -s "$(cat x)" h2`, "git shortlog --output=.git/hooks/x", "git diff --output .envrc", "rsync -a --backup-dir=.git/hooks a b", "split -l 1 x .git/hooks/p", "awk '{ print > \".git/config\" }' x",
		"exec 3> .git/config", "tar -fc.tar -C .git -x", "history -w .git/config", "awk -i inplace 1 .envrc", "mv x/workflows .github", "cp -r x/workflows .github/",
		"wget -P .git http://x", "npx tsc --outDir .husky", "git restore AGENTS.md", "git rm .envrc", "git mv a .husky/b", "foo -o.git x", "parallel tee ::: .git/config", "eval 'tee .git/config'", "coproc tee .git/config",
		"cat <<E | tee .git/config\nx\nE", "while read f; do tee $f; done < x", "tee {.git,x}/config", "tee .g[i]t/config", "tee $'.git/config'", "busybox tee .git/config", "tee ${PWD}/.git/config", `tee "$(git rev-parse --git-dir)/config"`, "bash -c 'tee \"$0\"' .git/config", "echo tee .git/config | bash", "alias t=tee; tee .git/config",
		"mv x .git/hooks/pre-commit", "mv .git elsewhere", "mv x AGENTS.md", "mv -t .husky x",
		"install -D x .git/hooks/x", "install -m 755 x .husky/pre-commit", "install -t .git/hooks x", "install -d .claude",
		"ln -s ../../x .git/hooks/pre-commit", "ln -sf .git/hooks h2", "ln AGENTS.md x",
		"sed -i s/a/b/ .git/config", "sed -i.bak s/a/b/ AGENTS.md", "sed -n 'w .git/config' x",
		"dd if=x of=.git/config", "dd of=.envrc", "dd of=$f",
		"tar xf a.tar -C .git/hooks", "tar -x -C .git -f a.tar", "tar xf a.tar .git/config", "tar --directory=.git -xf a.tar", "tar cf .git/x a", "cd .git && tar xf ../a.tar",
		"unzip -d .git a.zip", "unzip a.zip .git/config", "curl -o .git/config http://x", "curl -o.envrc http://x", "curl --output .git/hooks/x http://x",
		"git clone http://x/y .claude", "git checkout HEAD~1 -- .envrc", "git worktree add .vscode/x", "git apply --directory=.git x.diff", "git config -f .git/config a.b c",
		"patch .git/config", "patch -d .git", "patch -p1 -o .envrc", "rsync -a x/ .git/hooks/", "rsync x AGENTS.md", "scp host:x .git/config",
		"touch .envrc", "mkdir .husky", "mkdir -p sub/.github/workflows", "chmod +x .git/hooks/pre-commit", "rm -rf .git", "rm .fettle/policies.toml", "truncate -s 0 .git/config",
		"sort -o .git/config x", "foo .git/config", "foo --out=.git/config", "foo -o.envrc", "foo --x a:.git/config", "foo Jenkinsfile", "foo .github/workflows/ci.yml",
		"foo .circleci/config.yml", "foo lib.git/config", "foo .pre-commit-config.yaml", "foo my.code-workspace", "foo .g\u200cit/config", "foo git~1/config",
		"wget http://x/AGENTS.md", "wget http://x/.env", "wget http://x/a http://x/.npmrc", "wget -q 'http://x/%2eenv?a=b'", `wget "http://x/$v/AGENTS.md"`, "for u in http://x/.env; do wget $u; done", "wget x.org/AGENTS.md", "wget -r http://x/.git/config",
		"wget -P sub http://x/AGENTS.md", "wget -PO http://x/AGENTS.md", "aria2c http://x/AGENTS.md", "aria2c -x4 'http://x/AGENTS.md?token=a'", "wget --content-disposition http://x/a", "wget --trust-server-names http://x/a", "curl -O http://x/AGENTS.md", "scp host:AGENTS.md .", "rsync host:x/.env .",
		"shopt -s dotglob; cp -r d/* .", "GLOBIGNORE=x; cp -r d/* .", "((GLOBIGNORE=1)); cp -r d/* .", "export GLOBIGNORE=x; mv d/* .", "bash -O dotglob -c 'mv d/* .'", "bash -O nullglob -O dotglob -c 'cp d/* sub'", "shopt -s nullglob dot''glob; cp -t sub d/*", "shopt -s dotglob; rm -rf *",
		"shopt -s dotglob; cp d/*.npmrc sub", "shopt -s dotglob; cp d/?npmrc sub", "shopt -s dotglob extglob; cp -r d/!(x) .", "shopt -s extglob; cp -r d/.@(git|x) sub", "cp -at . d/.", "cp d/AGENT?.md .", "cp -t sub d/AGENTS*", "cp -r --target-directory=. d/AGENTS.md", "cp -t. d/AGENTS.md",
		"gzip -d AGENTS.md.gz", "gzip -dk AGENTS.md.gz", "gzip -df .npmrc.gz", "gunzip sub/AGENTS.md.gz", "gunzip -- AGENTS.md.gz", "gunzip AGENT*.gz", "for f in AGENTS.md.gz; do gunzip $f; done", "bunzip2 -k AGENTS.md.bz2", "xz -d AGENTS.md.xz", "xz -T0 -dk AGENTS.md.xz", "unxz -f AGENTS.md.xz",
		"zstd -d AGENTS.md.zst", "unzstd --rm AGENTS.md.zst", "lz4 -d AGENTS.md.lz4", "lz4 -d x.lz4 AGENTS.md", "uncompress AGENTS.md.Z", "lzop -x AGENTS.md.lzo", "zstd -d x.zst -o AGENTS.md", "gzip -d -S .x AGENTS.md.x", "gzip -d --suffix=.x a.x", "gzip -d --suf .md.x a", "uncompress -S .x a.x", "gzip -dN a.gz",
		"gunzip --name a.gz", "xz -d --files=list", "gunzip -r .", "gzip -d -- -c AGENTS.md.gz", "timeout 5 gunzip AGENTS.md.gz",
		"find d -name AGENTS.md -exec cp {} . ;", "find d -iname 'agents*' -exec cp {} sub/ ;", "find d -path '*/AGENTS.md' -exec cp {} . ;", "find d -name AGENTS.md -exec cp -t . {} +", "find d -name AGENTS.md -exec cp --target-directory=. {} +", "find d -name AGENTS.md -exec install -m 644 {} sub ;", "find d -name '*' -exec cp {} sub ;",
		"find d -type f -exec cp {} . ;", "find d ! -name x -exec cp {} . ;", "find d -type f -exec mv -t . {} +", "find d -name AGENTS.md | xargs cp -t .", "find d -name AGENTS.md -print0 | xargs -0 -I{} cp {} .", "find d -name AGENTS.md | sort | xargs -I{} cp {} .", "fd AGENTS.md d -x cp {} .", "find d -name AGENTS.md.gz -exec gunzip {} ;", "ls d/AGENTS.md | xargs -I{} cp {} .", "echo a d/AGENTS.md | xargs cp -t sub", "parallel cp {} . ::: d/AGENTS.md", "find d -name AGENTS.md -exec timeout 5 cp {} . ;", "find d -name AGENTS.md -exec sh -c 'cp \"$1\" .' _ {} ;", "fd -H . d -x cp {} .", "fd -He txt -x cp {} .",
		"zip .git/x a", "perl -i -pe s/a/b/ .git/config", "make -C .git", "gofmt -w .git/x.go",
	} {
		for _, mode := range []policy.ApprovalMode{policy.ModeDefault, policy.ModeAutoEdit} {
			c := command(t, line, mode)
			c.Dir, c.Roots, c.RealPaths = "/w", []string{"/w"}, links
			d := e.Decide(c)
			assert.NotEqual(t, policy.Allow, d.Decision, "%s in %s: %s", line, mode, d.Reason)
		}
	}
	whole := engine(t, allowTool("run_shell_command"))
	for _, line := range []string{"$t .git/config", "t=$(cat x); $t a .envrc", "tee .git/config", "cd .git && make", "xargs tee < x"} {
		c := command(t, line, policy.ModeDefault)
		c.Dir, c.Roots = "/w", []string{"/w"}
		d := whole.Decide(c)
		assert.Equal(t, policy.AskUser, d.Decision, "%s: %s", line, d.Reason)
	}
	for _, line := range []string{
		"tee out.txt", "echo x | tee -a build/log.txt", "go build ./...", "go build -o bin/x ./cmd/x", "go test ./...", "cp a b", "cp -r src/. dist/", "rsync -a src/ dist/", "cp -rT src dist", "cp -r src dist",
		"cp *.md docs/", "mv a b", "mv *.txt sub/", "install -m 755 x bin/x", "ln -s a b", "dd if=.git/config of=x", "tar xf a.tar", "tar xzf a.tgz -C out", "tar czf x.tgz .git", "tar -cf x.tar .github",
		"tar czf x.tgz --exclude=.git .", "unzip -d out a.zip", "git clone http://x/y.git", "git clone http://x/y.git dir", "git add .github/workflows/ci.yml AGENTS.md", "git commit -m 'fix .env' -- AGENTS.md",
		"git status .github", "git diff -- AGENTS.md", "git checkout main", "git checkout -- a.go", "rsync -a --exclude .git a/ b/", "rsync -a --exclude=.git a b", "touch a", "mkdir -p \"$d\"", "mkdir -p .github",
		"rm -rf build", "rm *.o", "chmod +x run.sh", "find . -name '*.go' -not -path './.git/*' -exec gofmt -l {} +", "find . -name '*.go' -exec gofmt -w {} +", "cat .git/config", "grep -r x .github/workflows", "rg x AGENTS.md",
		"sed -n 1p AGENTS.md", "cat .env | grep X", "bash -c 'cat AGENTS.md'", "sudo cat .git/config", "zip -r x.zip .github", "make build", "npx prettier --check .", "npx eslint --ignore-path .gitignore .", "foo a=b c:d",
		"foo --env-file .env", "for f in a b; do tee $f; done", "f=x.txt; tee \"$f\"", "cat x | tee /dev/null", "touch .gitignore .gitattributes", "foo environment", "cp a .gitignore", "find . -type f -exec cp {} out/ ;",
		"timeout 5 cat .git/config", "env A=1 cat .env", "ls | xargs -I{} cp ./{} out/", "gofmt -w ./*.go", "foo -- *",
		"wget http://x/a.tar.gz", "wget -qO- http://x/AGENTS.md", "wget -O agents.txt http://x/AGENTS.md", "wget http://x/.well-known/a.txt", "wget https://x/.github/a.yml", "wget http://x", `wget "$url"`, "aria2c -x4 http://x/a.iso", "scp host:a.txt .", "rsync host:x/a b", "curl -s http://x/AGENTS.md",
		"shopt -s dotglob; ls -a *", "shopt -s dotglob; cp d/*.md sub", "shopt -s dotglob; cp d/b*.txt sub", "shopt -s nullglob; cp -r d/* sub", "shopt -s extglob; cp d/!(a).txt sub", "GLOBIGNORE=x; cp *.md sub", "cp -t sub a b",
		"gzip -dk a.gz", "gzip -d a.md.gz", "gzip -9 a.txt", "gunzip ./*.gz", "gunzip -c AGENTS.md.gz", "gzip -dc .npmrc.gz", "gzip -cd < a", "xz -dc AGENTS.md.xz", "zstd -d --stdout AGENTS.md.zst", "xz -t AGENTS.md.xz", "zstd -T0 -19 a.tar", "bunzip2 -k a.bz2", "lz4 -d a.lz4 b", "uncompress a.Z", "gunzip -r logs",
		"find . -name '*.go' -exec cp {} out/ ;", "find src -name '*.h' -exec cp {} . ;", "find d -type f | xargs -I{} cp {} out/", "find d -name '*.md' -exec cp -t out {} +", "fd -e go -x cp {} out", "find d -name '*.gz' -exec gunzip {} ;", "ls d | xargs -I{} cp ./{} out", "parallel cp {} out ::: a b", "cp d/a*.txt sub", "cp d/*-linux-amd64 sub", "cp build/main* out", "fd -H -e json . src -x cp {} out", "fd main src -x cp {} out", "find .git -name config -exec cp {} out/ ;", "foo ./*.json", "foo ./*.md", "cat .git/config > copy.txt", "curl -o out.json http://x",
	} {
		c := command(t, line, policy.ModeAutoEdit)
		c.Dir, c.Roots, c.RealPaths = "/w", []string{"/w"}, links
		d := e.Decide(c)
		assert.Equal(t, policy.Allow, d.Decision, "%s: %s", line, d.Reason)
	}
}

// Writing to a protected path through a link created in the line, or to an
// unknown directory, requires approval.
func TestProtectedOutputsByDetours(t *testing.T) {
	e := engine(t, writersAnd("cd", "ln", "rsync", "tar", "unzip", "touch", "split", "prettier", "dirname"))
	for line, want := range map[string]policy.Verdict{
		"mv evil .github":                                   policy.AskUser,
		"cp -r evil/. .github/":                             policy.AskUser,
		"cp -r evil/* .github":                              policy.AskUser,
		"cp -rT evil .github":                               policy.AskUser,
		"rsync -a evil/ .github/":                           policy.AskUser,
		"ln -sfn ../evil .github":                           policy.AskUser,
		"cp -r evil/.github .":                              policy.AskUser,
		"tar xf a.tar -C .github":                           policy.AskUser,
		"ln -s .github g; cp -r evil/workflows g":           policy.AskUser,
		"ln -s .git g && echo x > g/config":                 policy.AskUser,
		"ln -s .git g && tee g/config":                      policy.AskUser,
		`touch "$(git rev-parse --git-dir)/hooks/x"`:        policy.AskUser,
		`split f "$(git rev-parse --git-path hooks)/x"`:     policy.AskUser,
		`cd "$d" && tee config`:                             policy.AskUser,
		`for d in */; do (cd "$d" && cp ../x config); done`: policy.AskUser,
		"mkdir -p .github":                                  policy.Allow,
		"cp a.txt src/.github.txt":                          policy.Allow,
		"ln -s a b && cp c d":                               policy.Allow,
		"ln -s a b && touch a/x":                            policy.Allow,
		"cd src && tee config":                              policy.Allow,
	} {
		c := command(t, line, policy.ModeAutoEdit)
		c.Dir, c.Roots = "/w", []string{"/w"}
		d := e.Decide(c)
		require.Equal(t, want, d.Decision, "%s: %s", line, d.Reason)
	}
}

// writersAnd returns a rule that allows additional programs.
func writersAnd(more ...string) policy.Rule {
	rule := writers()
	rule.CommandPrefix = append(rule.CommandPrefix, more...)
	return rule
}

// The intended output file of a program is covered by a rule that allows the
// program, in the workspace.
func TestProducts(t *testing.T) {
	e := engine(t, writersAnd("pandoc", "dot", "pytest", "pg_dump"))
	for line, want := range map[string]policy.Verdict{
		"pandoc a.md -o a.html":            policy.Allow,
		"pandoc --output=out/a.pdf a.md":   policy.Allow,
		"dot -Tpng -o g.png g.dot":         policy.Allow,
		"pytest --junitxml=out/report.xml": policy.Allow,
		"pandoc a.md -o /etc/x":            policy.AskUser,
		"pandoc a.md -o ../x":              policy.AskUser,
		`pandoc a.md -o "$x"`:              policy.AskUser,
		"pandoc a.md -o .git/config":       policy.AskUser,
		"dot -o ~/.bashrc g.dot":           policy.AskUser,
		"pytest --junitxml=../x":           policy.AskUser,
		"pg_dump -f /home/u/x db":          policy.AskUser,
	} {
		c := command(t, line, policy.ModeDefault)
		c.Dir, c.Roots = "/w", []string{"/w"}
		d := e.Decide(c)
		require.Equal(t, want, d.Decision, "%s: %s", line, d.Reason)
	}
}
