package patch

import "testing"

// TestStatedPlace covers hunks whose text alone can be read differently than their header.
func TestStatedPlace(t *testing.T) {
	const refused = "refused"
	tests := []struct{ name, base, diff, want string }{
		{"exact elsewhere, with trailing blanks at the stated place",
			"p\nx \nq\n1\n2\n3\n4\np\nx\nq\n", "@@ -1,3 +1,3 @@\n p\n-x\n+y\n q\n", refused},
		{"exact elsewhere, with a line left out at the stated place",
			"p\nk\nx\nq\n1\n2\n3\np\nx\nq\n", "@@ -1,4 +1,4 @@\n p\n-x\n+y\n q\n", refused},
		{"exact where the number of another hunk leads",
			"p\nx \nq\n1\n2\n3\n4\np\nx\nq\n5\n", "@@ -1,3 +1,3 @@\n p\n-x\n+y\n q\n@@ -4,1 +4,1 @@\n-5\n+6\n", "p\nx \nq\n1\n2\n3\n4\np\ny\nq\n6\n"},
		{"trailing blanks at the stated place, a left-out line elsewhere",
			"p\nx  \nq\nz\n1\np\nx\nq\nk\nz\n", "@@ -1,4 +1,4 @@\n p\n-x\n+y\n q\n z\n", "p\ny\nq\nz\n1\np\nx\nq\nk\nz\n"},
		{"trailing blanks at the stated place, the result elsewhere",
			"p\nx  \nq\n1\np\ny\nq\n", "@@ -1,3 +1,3 @@\n p\n-x\n+y\n q\n", "p\ny\nq\n1\np\ny\nq\n"},
		{"one line with text, a line left out at the stated place",
			"\n0.4\n===\n\n", "@@ -1,4 +1,5 @@\n \n+0.5\n 0.4\n \n", "\n0.5\n0.4\n===\n\n"},
		{"one line with text, no number", "\n0.4\n===\n\n", "@@\n \n+0.5\n 0.4\n \n", refused},
		{"blank lines of other white space",
			"a\n  \t\nb\n", "@@ -1,3 +1,3 @@\n a\n   \n-b\n+  c\n", "a\n  \t\n  c\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, _, err := run(test.base, test.diff)
			if err != nil {
				got = refused
			}
			if got != test.want {
				t.Errorf("got %q (%v), want %q", got, err, test.want)
			}
		})
	}
}
