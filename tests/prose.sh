#!/bin/bash
# prose.sh [--update | --list PATTERN] - counts phrases of the dialect that docs/dev/style.md replaces
#
# tests/prose.tsv has a row for each phrase: the highest count allowed, a Perl pattern, and the words
# to write instead. A count may fall and never rise. --update stores lower counts; it raises none.
# --list prints each place that one pattern matches.
#
# The patterns are matched against one line for each comment, string literal and paragraph, whose
# prefix is its kind: "H: " the sentence that opens a file, "C: " another comment, "S: " a string,
# "D: " a paragraph of a document.
set -u
export LC_ALL=C
cd "$(dirname "$0")/.." || exit 1

# Generated pages are left out, because their texts are counted in the option tables; style.md quotes
# the dialect on purpose.
mapfile -t files < <(find README.md CHANGELOG.md dev CMakeLists.txt cmake completions docs include \
    costmodel python search src tests \
    \( -path tests/golden -o -path tests/fuzz/corpus -o -path tests/data -o -path docs/plait.1 \
    -o -path docs/reference/cli.md -o -path docs/dev/style.md -o -path tests/prose.sh \) -prune -o \
    -type f \( -name '*.[ch]' -o -name '*.md' -o -name '*.sh' -o -name '*.py' -o -name '*.def' \
    -o -name '*.cmake' -o -name CMakeLists.txt -o -name dev \) -print | sort)
[ ${#files[@]} -gt 100 ] || { echo "prose.sh: found only ${#files[@]} files"; exit 1; }

perl - "${1-}" "${2-}" "${files[@]}" <<'END'
use strict;
use warnings;

my ($action, $wanted) = splice @ARGV, 0, 2;
my @prose; # [place, "C: text"]

sub add {
    my ($place, $kind, $text) = @_;
    $text =~ s/\s+/ /g;
    $text =~ s/^ | $//g;
    $kind = 'H' if $kind eq 'C' && $text =~ s/^[\w.]+\.(c|h|sh|py)( [^-]*)? - //;
    push @prose, [$place, "$kind: $text"] if $text =~ /[a-z]/;
}

sub read_c {
    my ($file, $text) = @_;
    my ($line, $last) = (1, 0);
    while ($text =~ m{/\*(.*?)\*/|((?://[^\n]*\n[ \t]*)+)|"((?:[^"\\\n]|\\.)*)"|'(?:[^'\\]|\\.)+'}gs) {
        my ($block, $lines, $string) = ($1, $2, $3);
        $line += substr($text, $last, $-[0] - $last) =~ tr/\n//;
        $last = $-[0];
        if (defined $block) {
            $block =~ s/^\*+|\n[ \t]*\*?/ /g;
            add("$file:$line", 'C', $block);
        } elsif (defined $lines) {
            $lines =~ s{\s*//}{ }g;
            add("$file:$line", 'C', $lines);
        } elsif (defined $string) {
            add("$file:$line", 'S', $string);
        }
    }
}

# Comments that follow each other make one text, as do the lines of a paragraph.
sub read_lines {
    my ($file, $text, $kind, $pattern) = @_;
    my ($line, $start, $joined) = (0, 0, '');
    for (split(/\n/, $text), '') {
        $line++;
        if (/$pattern/) {
            $start = $line if $joined eq '';
            $joined .= " $1";
        } elsif ($joined ne '') {
            add("$file:$start", $kind, $joined);
            $joined = '';
        }
    }
}

for my $file (@ARGV) {
    open my $in, '<', $file or die "prose.sh: $file: $!\n";
    my $text = do { local $/; <$in> };
    if ($file =~ /\.[ch]$/) { read_c($file, $text) }
    elsif ($file =~ /\.md$/) { read_lines($file, $text, 'D', qr/(\S.*)/) }
    else { read_lines($file, $text, 'C', qr/(?:^|\s)#(?!!)\s?(.*)/) }
}

open my $table, '<', 'tests/prose.tsv' or die "prose.sh: tests/prose.tsv: $!\n";
my (@rows, $risen, $fallen);
while (<$table>) {
    chomp;
    if (/^#/) { push @rows, $_; next }
    my ($limit, $pattern, $instead) = split /\t/;
    my @found = grep { $_->[1] =~ /$pattern/ } @prose;
    if ($action eq '--list' && $pattern eq $wanted) {
        print "$_->[0] ", substr($_->[1], 0, 200), "\n" for @found;
    }
    if (@found > $limit) {
        $risen++;
        print "\"$pattern\" is in ", scalar @found, " texts, allowed are $limit. Write: $instead\n";
        print "    tests/prose.sh --list '$pattern' prints them\n";
    }
    $fallen++ if @found < $limit;
    $limit = @found if @found < $limit;
    push @rows, join "\t", $limit, $pattern, $instead;
}
close $table;
if ($action eq '--update' && $fallen) {
    open my $out, '>', 'tests/prose.tsv' or die "prose.sh: tests/prose.tsv: $!\n";
    print $out "$_\n" for @rows;
    print "tests/prose.tsv: $fallen counts lowered\n";
}
exit($risen ? 1 : 0);
END
