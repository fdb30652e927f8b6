# SPDX-License-Identifier: Apache-2.0
#
# The charts of docs/benchmarks.md for one cipher and direction. Wanted with -e: results and docs (folders), here (the
# release of OpenSSL), releases (all of them), cipher, direction, name (of the charts).

set terminal svg size 860,480 font "sans-serif,13" background "white"
set datafile separator ","
set datafile columnheaders
set datafile missing NaN
set key outside right top reverse Left
set grid
set logscale x 2
set xlabel "bytes in a message"
set xtics ("16" 16, "64" 64, "256" 256, "1 KiB" 1024, "4 KiB" 4096, "16 KiB" 16384, "64 KiB" 65536, "256 KiB" 262144, \
           "1 MiB" 1048576, "4 MiB" 4194304, "16 MiB" 16777216, "64 MiB" 67108864) rotate by -30
set style line 1 lw 2 pt 7 ps 0.4 lc rgb "#888888"
set style line 2 lw 2 pt 7 ps 0.4 lc rgb "#80b1d3"
set style line 3 lw 2 pt 7 ps 0.4 lc rgb "#1f78b4"
set style line 4 lw 2 pt 7 ps 0.4 lc rgb "#d7301f"
set style line 5 lw 2 pt 7 ps 0.4 lc rgb "#33a02c"

csv(name) = results . "/" . name . ".csv"
# y where a row is of that cipher, direction and kernel
of(c, d, k, y) = stringcolumn("cipher") eq c && stringcolumn("direction") eq d \
                 && (k eq "" || stringcolumn("kernel") eq k) ? y : NaN

first = csv("cipher-" . here)
forced = csv("cipher-kernels")
k = csv("kernel")
gb(kernel, y) = of(cipher, direction, kernel, column(y) / 1e3)

set output docs . "/" . name . "-messages.svg"
set title cipher . ", " . direction . ", messages through EVP"
set ylabel "GB/s"
set yrange [0:*]
plot first using "bytes":(gb("auto", "ceiling")) with lines ls 4 dt 2 title "ceiling, widest kernel", \
     first using "bytes":(gb("auto", "aesop_MB/s")) with linespoints ls 4 title "aesop", \
     forced using "bytes":(gb("vaes256", "aesop_MB/s")) with linespoints ls 3 title "aesop, vaes256", \
     forced using "bytes":(gb("aesni", "aesop_MB/s")) with linespoints ls 2 title "aesop, aesni", \
     first using "bytes":(gb("auto", "default_MB/s")) with linespoints ls 1 title "default " . here

set output docs . "/" . name . "-kernels.svg"
set title cipher . ", " . direction . ", kernels alone"
alone(y) = of(cipher, direction, "", column(y))
plot k using "bytes":(alone("ceiling")) with lines ls 4 dt 2 title "ceiling, widest kernel", \
     k using "bytes":(alone("vaes512")) with linespoints ls 4 title "vaes512", \
     k using "bytes":(alone("ipsec-mb")) with linespoints ls 5 title "libipsec-mb", \
     k using "bytes":(alone("vaes256")) with linespoints ls 3 title "vaes256", \
     k using "bytes":(alone("aesni")) with linespoints ls 2 title "aesni"

set output docs . "/" . name . "-ratio.svg"
set title cipher . ", " . direction . ": times as fast as default of the same release"
set ylabel "ratio"
ratio(y) = of(cipher, direction, "auto", column(y))
plot 1 with lines lc rgb "black" notitle, \
     for [i = 1:words(releases)] csv("cipher-" . word(releases, i)) using "bytes":(ratio("ratio")) \
         with linespoints ls i title "OpenSSL " . word(releases, i)

unset logscale x
set xtics auto norotate
set xrange [0:2100]
set datafile separator whitespace
set datafile nocolumnheaders
curve(kernel) = cipher . " " . direction . " " . kernel
set output docs . "/" . name . "-lengths.svg"
set title cipher . ", " . direction . ", kernels alone, every length"
set ylabel "GB/s"
plot results . "/curve.txt" index curve("vaes512") with lines ls 4 title "vaes512", \
     results . "/curve.txt" index curve("vaes256") with lines ls 3 title "vaes256", \
     results . "/curve.txt" index curve("aesni") with lines ls 2 title "aesni"
