# SPDX-License-Identifier: Apache-2.0
#
# A CSV file with a heading as a Markdown table.
#   -v mode=table [-v columns=a,b,...]                  rows as they are
#   -v mode=pivot -v rows=a,b -v across=c -v value=d    a line per a and b, a column per c, d in the cells
# -v where=column=value,... keeps only those rows.

BEGIN { FS = "," }

function line(cells, n,    i, text) {
    text = "|"
    for (i = 1; i <= n; i++)
        text = text " " cells[i] " |"
    print text
}

function ruler(n,    i, text) {
    text = "|"
    for (i = 1; i <= n; i++)
        text = text (i == 1 ? "---|" : "--:|")
    print text
}

# The fields of the columns that a list names, into cells from `from` on. Returns the number of the last.
function pick(list, cells, from,    names, n, i) {
    n = split(list, names, ",")
    for (i = 1; i <= n; i++)
        cells[from + i - 1] = NR == 1 ? names[i] : shown($(number[names[i]]))
    return from + n - 1
}

function shown(field) {
    return field == "nan" ? "" : field
}

function size_name(bytes) {
    if (!is_number(bytes))
        return bytes
    if (bytes >= 1048576 && bytes % 1048576 == 0)
        return bytes / 1048576 " MiB"
    return bytes >= 16384 && bytes % 1024 == 0 ? bytes / 1024 " KiB" : bytes
}

NR == 1 {
    for (i = 1; i <= NF; i++)
        number[$i] = i
    if (columns == "")
        columns = $0
    if (mode == "table") {
        count = pick(columns, cells, 1)
        line(cells, count)
        ruler(count)
    }
    next
}

{
    split("", wanted)
    n = split(where, wanted, ",")
    for (i = 1; i <= n; i++) {
        split(wanted[i], pair, "=")
        if ($(number[pair[1]]) != pair[2])
            next
    }
}

mode == "table" {
    line(cells, pick(columns, cells, 1))
}

mode == "pivot" {
    keys = pick(rows, cells, 1)
    key = cells[1]
    for (i = 2; i <= keys; i++)
        key = key " | " cells[i]
    if (!(key in seen))
        order[++lines] = key
    seen[key] = 1
    at = $(number[across])
    if (!(at in met)) {
        met[at] = 1
        names[++places] = at
    }
    cell[key, at] = shown($(number[value]))
}

# Numbers in their order, behind what is none.
function sort_names(    i, j, swap) {
    for (i = 2; i <= places; i++)
        for (j = i; j > 1 && is_number(names[j - 1]) && names[j] + 0 < names[j - 1] + 0; j--) {
            swap = names[j]; names[j] = names[j - 1]; names[j - 1] = swap
        }
}

function is_number(text) {
    return text ~ /^[0-9]+$/
}

END {
    if (mode == "pivot") {
        sort_names()
        gsub(/,/, " | ", rows)
        cells[1] = rows
        for (p = 1; p <= places; p++)
            cells[1 + p] = size_name(names[p])
        line(cells, places + 1)
        ruler(keys + places)
        for (l = 1; l <= lines; l++) {
            cells[1] = order[l]
            for (p = 1; p <= places; p++)
                cells[1 + p] = cell[order[l], names[p]]
            line(cells, places + 1)
        }
    }
}
