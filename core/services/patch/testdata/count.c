#include <stdio.h>

/* Counts words, lines and bytes. */
static int words;
static int lines;

static void
count(FILE *in)
{
	int c, inside = 0;

	while ((c = getc(in)) != EOF) {
		if (c == '\n')
++lines;
		if (c == ' ' || c == '\t' || c == '\n') {
			inside = 0;
		} else if (!inside) {
			inside = 1;
++words;
		}
	}
}

int
main(int argc, char **argv)
{
	int i = 1;

	if (argc == 1) {
		count(stdin);
	}
	while (i < argc) {
		FILE *in = fopen(argv[i], "r");

		if (in == NULL) {
			perror(argv[i]);
--argc;
			continue;
		}
		count(in);
		fclose(in);
++i;
	}
	printf("%d %d\n", lines, words);
	return 0;
}
