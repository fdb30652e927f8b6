# SPDX-License-Identifier: Apache-2.0
#
# Goals beside what was measured, as a Markdown table: first file the measured values, "what openssl cipher direction
# kernel bytes value [most]" in each line, second file goals.txt. A goal that was not reached is in bold; a star says
# that the most that this CPU allows is less than the goal. -v only=WHAT takes the rows of that kind, -v
# others="WHAT|WHAT" all but those, and -v head="cipher | direction | kernel" names the columns in the middle.

function size_name(bytes) {
    return bytes == 1048576 ? "1 MiB" : bytes == 30000000 ? "30 MB" : bytes
}

FNR == NR {
    measured[$1, $2, $3, $4, $5, $6] = $7
    most[$1, $2, $3, $4, $5, $6] = NF > 7 ? $8 : $7 + 1e9
    next
}

/^#/ || NF < 6 || (only != "" && $1 != only) || (others != "" && $1 ~ others) { next }

{
    n = split($4, directions, ",")
    for (d = 1; d <= n; d++) {
        title = $1 " | " $2 " | " $3 " | " directions[d] " | " $5
        order[++lines] = title
        for (i = 6; i <= NF; i++) {
            split($i, goal, ":")
            if (!(goal[1] in sizes)) {
                sizes[goal[1]] = 1
                list[++count] = goal[1]
            }
            key = $1 SUBSEP $2 SUBSEP $3 SUBSEP directions[d] SUBSEP $5 SUBSEP goal[1]
            if (!(key in measured)) {
                cell[title, goal[1]] = "not measured / " goal[2]
                continue
            }
            total++
            at_most = goal[2] ~ /^</
            met = at_most ? measured[key] + 0 <= substr(goal[2], 2) + 0 : measured[key] + 0 >= goal[2] + 0
            beyond = !met && most[key] + 0 < goal[2] + 0
            reached += met
            out_of_reach += beyond
            sub(/^</, "at most ", goal[2])
            cell[title, goal[1]] = (met ? measured[key] : "**" measured[key] "**") " / " goal[2] (beyond ? " \\*" : "")
        }
    }
}

END {
    for (i = 2; i <= count; i++)
        for (j = i; j > 1 && list[j] + 0 < list[j - 1] + 0; j--) {
            swap = list[j]; list[j] = list[j - 1]; list[j - 1] = swap
        }
    printf "%d of %d goals were reached on this machine", reached, total
    if (only == "" && out_of_reach > 0)
        printf "; %d %s for more than this CPU can do with a kernel at its ceiling (\\*)", out_of_reach,
            out_of_reach == 1 ? "asks" : "ask"
    print "."
    print "Each cell is measured / goal; **bold** falls short.\n"
    printf "| what | OpenSSL | %s |", head == "" ? "cipher | direction | kernel" : head
    for (i = 1; i <= count; i++)
        printf " %s |", size_name(list[i])
    printf "\n|---|---|---|---|---|"
    for (i = 1; i <= count; i++)
        printf "--:|"
    for (l = 1; l <= lines; l++) {
        printf "\n| %s |", order[l]
        for (i = 1; i <= count; i++)
            printf " %s |", cell[order[l], list[i]]
    }
    print ""
}
