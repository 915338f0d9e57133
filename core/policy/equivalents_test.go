package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
)

// AR-27: a rule that denies applies to a program under all its names; a word that
// may be such a name requires approval. A rule that allows applies literally.
func TestOtherNames(t *testing.T) {
	engine := func(prefix string, decision policy.Verdict) *policy.Engine {
		e, err := policy.NewEngine(policy.Options{Rules: []policy.Rule{{
			Tools: []string{"run_shell_command"}, CommandPrefix: []string{prefix}, Decision: decision, Priority: 500, Tier: policy.TierUser, Source: "test",
		}}})
		require.NoError(t, err)
		return e
	}
	for _, tt := range []struct {
		prefix string
		deny   []string // in yolo mode
		ask    []string
		allow  []string
	}{
		{"npm install", []string{"npm i x", "npm in", "npm add x", "npm isntall", "npm --prefix a i x", "npm inst x"}, []string{"npm instal$x", "npm insta$x"}, []string{"npm test", "npm t", "npm ci", "npm run i", "npm ls", "npm view install"}},
		{"npm i", []string{"npm install", "npm add"}, nil, []string{"npm info x"}},
		{"npm publish", []string{"npm pub"}, []string{"npm publi", "npm p"}, []string{"npm run publ", "npm prune"}},
		{"npm uninstall", []string{"npm un x", "npm rm x", "npm remove x", "npm unlink x", "npm r x"}, []string{"npm unins x"}, []string{"npm update", "npm up"}},
		{"npm run deploy", []string{"npm run-script deploy", "npm rum deploy"}, nil, []string{"npm run build"}},
		{"rm", []string{"npm explore x -- rm y", "docker container run -it x rm y", "docker container exec x rm y"}, nil, []string{"npm explore x -- ls"}},
		{"git branch -D", []string{"git branch -d --force x", "git branch -fd x", "git branch --delete -f x", "git branch x -D", "git branch -df x", "git -C a branch --force --delete x"}, nil, []string{"git branch -d x", "git branch -f x", "git branch"}},
		{"git branch -d -f", []string{"git branch -D x"}, nil, []string{"git branch -d x"}},
		{"git commit --no-verify", []string{"git commit -n", "git commit -nm x", "git commit -m x -n"}, nil, []string{"git commit -m x", "git commit --dry-run"}},
		{"git commit -n", []string{"git commit --no-verify"}, nil, []string{"git commit --dry-run"}},
		{"git push --force", []string{"git push -f", "git push origin +main", "git push origin +a:b"}, nil, []string{"git push", "git push origin main"}},
		{"git push --delete", []string{"git push origin :main", "git push -d origin main"}, nil, []string{"git push origin a:b"}},
		{"git remote remove", []string{"git remote rm x"}, nil, []string{"git remote add x y"}},
		{"cargo publish", []string{"cargo +nightly publish", "cargo publish"}, nil, []string{"cargo +nightly build"}},
		{"cargo run", []string{"cargo r", "cargo +stable r"}, nil, []string{"cargo remove x"}},
		{"docker rm", []string{"docker container rm x", "docker container remove x", "docker -H a container rm x"}, nil, []string{"docker container ls", "docker image rm x"}},
		{"docker container rm", []string{"docker rm x"}, nil, []string{"docker rmi x"}},
		{"docker rmi", []string{"docker image rm x", "docker image remove x"}, nil, []string{"docker rm x"}},
		{"docker run", []string{"docker container run x"}, nil, []string{"docker container start x"}},
		{"podman rm", []string{"podman container rm x"}, nil, []string{"docker rm x"}},
		{"docker-compose down", []string{"docker compose down -v"}, nil, []string{"docker compose ps"}},
		{"helm uninstall", []string{"helm un x", "helm delete x", "helm del x", "helm -n a delete x"}, nil, []string{"helm list"}},
		{"yarn publish", []string{"yarn npm publish"}, nil, []string{"yarn npm info"}},
		{"terraform destroy", []string{"terraform apply -destroy", "terraform apply -auto-approve -destroy", "terraform apply --destroy"}, nil, []string{"terraform apply"}},
		{"pip install", []string{"pip3 install x", "pip3.12 install x", "python3 -m pip install x", "python -m pip install x", "python3.12 -m pip --quiet install x", "uv pip install x",
			"python3 -mpip install x", "python3 -Bmpip install x", "python3 -B -mpip install x", "/usr/bin/python3.12 -Wignore -Im pip install x", "python -W ignore -mpip install x", "pypy3 -mpip install x", "python3 -m pip.__main__ install x"}, []string{"python3 -mp$x install y"},
			[]string{"pip3 list", "python3 -m venv x", "python3 -mvenv x", "python3 -mpip list", "python3 a.py -mpip install"}},
		{"python3 -m pip install", []string{"pip install x", "python3 -mpip install x"}, nil, []string{"pip list"}},
		{"python3 -Bmpip install", []string{"pip install x", "python3 -m pip install x"}, nil, []string{"pip list"}},
		{"pytest", []string{"python3 -mpytest x", "python -W ignore -m pytest"}, nil, []string{"python3 -mvenv x"}},
		{"python", []string{"python3 x.py", "python3.12 x.py", "/usr/bin/python3 x.py"}, nil, []string{"pytest"}},
		{"python3", []string{"python x.py"}, nil, nil},
		{"mkfs", []string{"mkfs.ext4 /dev/x"}, nil, []string{"ls"}},
		{"gh pr create", []string{"gh pr new"}, nil, []string{"gh pr list"}},
		{"rm -rf", []string{"rm --r --f t", "rm --re --f x", "rm -r --f x", "rm --r x -f"}, []string{"rm --f $x"}, []string{"rm --r x", "rm --f x", "rm --i -r x"}},
		{"git clean -fd", []string{"git clean --f -d", "git clean -d --force"}, nil, []string{"git clean --f"}},
		{"git reset --hard", nil, []string{"git reset --h", "git reset --ha", "git -C d reset --h x"}, []string{"git reset --s", "git reset -- h"}},
		{"foo --out=x", nil, []string{"foo --o=x", "foo --o"}, []string{"foo --=x", "foo -o"}},
		{"ip link delete", nil, []string{"ip l delete x"}, []string{"ip addr"}},
	} {
		e := engine(tt.prefix, policy.Deny)
		for want, lines := range map[policy.Verdict][]string{policy.Deny: append(tt.deny, tt.prefix), policy.AskUser: tt.ask, policy.Allow: tt.allow} {
			for _, line := range lines {
				d := decide(t, e, line, policy.ModeYolo)
				require.Equal(t, want, d.Decision, "%s denied: %s: %s", tt.prefix, line, d.Reason)
			}
		}
		e = engine(tt.prefix, policy.Allow)
		for _, line := range tt.deny {
			if other := decide(t, e, line, policy.ModeDefault); other.Decision == policy.Allow {
				require.Contains(t, []string{"git branch x -D", "/usr/bin/python3 x.py", "cargo publish"}, line, "%s allows %s", tt.prefix, line)
			}
		}
	}
}
