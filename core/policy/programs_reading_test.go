package policy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
)

// AR-26: commands in the input or an argument of a program are guarded like those
// of a shell.
func TestProgramsThatRunWhatTheyRead(t *testing.T) {
	for _, rules := range [][]policy.Rule{
		{{Decision: policy.Deny, CommandPrefix: []string{"rm", "git push"}, Priority: 9}, {Decision: policy.Allow, Priority: 1}},
		{{Decision: policy.Deny, CommandPrefix: []string{"rm", "git push"}, Priority: 9}},
	} {
		for i := range rules {
			rules[i].Tools, rules[i].Tier = []string{"run_shell_command"}, policy.TierUser
		}
		e, err := policy.NewEngine(policy.Options{Rules: rules})
		require.NoError(t, err)
		for line := range strings.Lines(`
echo '.shell rm x' | sqlite3
echo '.system rm x' | sqlite3 a.db
printf '.shell rm x\n' | sqlite3 a.db
cat f | sqlite3 a.db
sqlite3 a.db < f
sqlite3 a.db <<< '.shell rm x'
psql <<< '\! rm x'
psql db < f
cat f | psql -h h db
{ psql; } < f
while read x; do psql; done < f
f() { psql; }; f < f
exec < f; psql
bash -c 'sqlite3 a.db' < f
timeout 5 sqlite3 a.db < f
mysql <<< 'system rm x'
mysql < f
mariadb db < f
redis-cli < f
gdb -batch < f
gdb <<< 'shell rm x'
lldb < f
ftp <<< '!rm x'
ftp h < f
lftp < f
sftp h < f
dc <<< '!rm x'
echo '!rm x' | dc
m4 <<< 'syscmd(rm x)'
m4 < f
at now <<< 'rm x'
batch <<< 'rm x'
echo rm x | at now
ed <<< '!rm x'
ex -s <<< '!rm x'
vim -es < f
mail a < f
crontab f
crontab - < f
python <<< 'x'
python3 < f
node < f
R --no-save < f
Rscript -e 'system("rm x")'
perl < f
ruby < f
lua < f
php < f
tclsh < f
gnuplot -e 'system "rm x"'
gnuplot < f
gnuplot <<< 'system "rm x"'
octave --eval 'system("rm x")'
octave -q < f
octave-cli < f
ghc -e 'x'
rake -e 'x'
julia -e x
ts-node -e x
bpftrace -e x
maxima < f
docker compose run a rm x
docker compose exec a rm x
docker compose -f x.yml exec -T a rm x
docker-compose run --rm a rm x
docker-compose -f x.yml run a rm x
podman compose exec a rm x
podman-compose run a rm x
nerdctl compose run a rm x
docker -H x run a rm x
docker --context a run --rm a rm x
docker --context=a exec a rm x
podman run a rm x
nerdctl exec a rm x
nerdctl run a rm x
docker container run a rm x
docker create a rm x
kubectl run a --image=b -- rm x
kubectl run a --image b --command -- rm x
kubectl -n a run b --image=c -it --rm -- rm x
kubectl debug a -it --image=b -- rm x
kubectl exec a -- rm x
kubectl -n a exec b -c c -- rm x
kubectl --context a exec b -- rm x
oc rsh a rm x
oc exec a -- rm x
crictl exec a rm x
lxc exec a -- rm x
incus exec a rm x
multipass exec a -- rm x
minikube ssh rm x
heroku run rm x
git-push
git-push origin main
./git-push
/usr/lib/git-core/git-push origin
/usr/libexec/git-core/git-push
git for-each-repo --config=a.b push
git submodule foreach git push
git submodule foreach 'rm x'
git bisect run rm x
git rebase --exec 'rm x' main
git rebase -x 'git push' main
git -c alias.x='!rm x' x
git -c alias.x=push x
git --config-env=alias.x=X x
git lg
git p
tmux new-session 'rm x'
tmux send-keys 'rm x' Enter
tmux run-shell 'rm x'
socat - EXEC:'rm x'
sshpass -p x ssh h rm x
ssh h <<< 'rm x'
echo 'rm x' | ssh h
ssh -T h < f
docker run -i a <<< 'rm x'
docker exec -i a sh <<< 'rm x'
kubectl exec -i a -- sh <<< 'rm x'
kubectl exec a rm x
command git-push
nohup /usr/lib/git-core/git-push
git rebase -ix 'rm x' main
git submodule--helper foreach 'rm x'
git archive --format=x HEAD
echo '!rm x' | ftp h
cat f | batch
echo 'rm x' | batch
sqlite3 a.db < <(echo '.shell rm x')
tee >(sqlite3 a.db)
{ sqlite3 a.db; } <<< '.shell rm x'
(sqlite3 a.db) < f
if true; then sqlite3 a.db; fi < f
sqlite3 a.db <<< '  .system rm x'
psql -c '\! rm x'
mysql -e 'SYSTEM rm x'
R <<< 'system("rm x")'
coproc sqlite3 a.db
find . -exec git-push \;
env git-push
npm run env rm x
npm run-script --silent env -- rm x
npm --prefix d run env A=1 rm x
npm run env -S 'rm x'
pnpm rm x
pnpm -r git push
pnpm exec rm x
bat --pager='rm x' a
bat --paging=always --pager 'git push' a
ag --pager='rm x' a
ack --pager 'rm x' a
rg --pre='rm x' a
sort --compress-program='rm x' a
sdiff --diff-program='rm x' a b
tasksh <<< '!rm x'
tasksh <<< 'exec rm x'
tasksh < f
tdbtool <<< '! rm x'
tdbtool a.tdb '! rm x'
tdbtool < f
telnet <<< '!rm x'
echo '! rm x' | telnet
telnet < f
ginsh <<< '!rm x'
ginsh < f
jjs <<< '$EXEC("rm x")'
jjs < f
echo x | jjs -scripting
qjs -e x
check_by_ssh -o 'ProxyCommand rm x' -H h -C ls
check_by_ssh -H h -C 'rm x'
arch -x86_64 rm x
arch -arch arm64 rm x
arch -arm64 -e A=b rm x
arch -x86_64 git push
ip vrf exec a rm x
ip -all netns exec rm x
ip -br -a netns exec rm x
ip netns exec a rm x
pnpm run env rm x
ip net e a rm x
`) {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			for _, mode := range []policy.ApprovalMode{policy.ModeDefault, policy.ModeYolo} {
				if d := decide(t, e, line, mode); d.Decision == policy.Allow {
					t.Errorf("%q in %s: allowed: %s", line, mode, d.Reason)
				}
			}
		}
	}
}

// AR-25: the variables that keep git, go and cargo from running files named by a
// directory are not unset by an allowed line.
func TestVariablesThatCommandsBeginWith(t *testing.T) {
	e, err := policy.NewEngine(policy.Options{Rules: []policy.Rule{{
		Tools: []string{"run_shell_command"}, Decision: policy.Allow, Priority: 1, Tier: policy.TierUser,
		CommandPrefix: []string{"git", "go", "cargo", "env", "sudo", "sh", "make", "true"},
	}}})
	require.NoError(t, err)
	for want, lines := range map[policy.Verdict][]string{
		policy.AskUser: {
			"env -i git log", "env - git log", "env -u GIT_CONFIG_COUNT git log", "env --unset=GIT_NO_LAZY_FETCH git show", "env -i sh -c 'git log'", "(exec -c git log)",
			"unset GIT_CONFIG_COUNT; git log", "unset -v GOTOOLCHAIN && go env", "export -n GIT_CONFIG_COUNT; git log", "declare +x GOTOOLCHAIN; go version", `\export -n GIT_CONFIG_COUNT; git log`,
			"x=GIT_CONFIG_COUNT; unset $x; git log", "GIT_CONFIG_COUNT=0 git log", "GIT_NO_LAZY_FETCH=0 git show", "GOTOOLCHAIN=auto go version", "RUSTUP_TOOLCHAIN=./evil cargo --version",
			"sudo git log", "sudo -u a go version", "env -i cargo --version", "git -c format.pretty=%G? log", "git -c core.fsmonitor=./evil status",
		},
		policy.Allow: {
			"env git log", "env -u FOO git log", "env -i make", "unset FOO; git log", "git log", "go env", "cargo --version", "env LANG=C git status", "sh -c 'git log'", `git log "$x"`,
		},
	} {
		for _, line := range lines {
			if d := decide(t, e, line, policy.ModeDefault); d.Decision != want {
				t.Errorf("%q: %s, want %s: %s", line, d.Decision, want, d.Reason)
			}
		}
	}
}
