// What of uPlot the console's charts never come to, as rows: lines along a time axis from left to right, a cursor, a drag
// that marks a span. No legend, no bands, no bars, no other scales, no charts that follow one another. A test holds the
// charts that are left to the library's own, dot by dot.

/** Changes the library's text: every row must fit. */
export interface UplotRow {
  readonly finds: RegExp;
  readonly puts: string;
}

/** What is always so: the build then leaves out whatever comes after its opposite. */
const ALWAYS: readonly (readonly [RegExp, string])[] = [
  [/\bmode == 1\b/g, "true"],
  [/\bmode == 2\b/g, "false"],
  [/\bms == 1\b/g, "false"],
  [/\bopts\.ms \|\| 1e-3/g, "1e-3"],
  [/\bfunction genTimeStuffs\(ms\) \{/g, "function genTimeStuffs() { const ms = 1e-3;"],
  [/\blegend\.(?:live|show)\b/g, "false"],
  [/\bshowLegend\b/g, "false"],
  [/\bshowCursor\b/g, "true"],
  [/\b(?:cursorFocus|cursorOnePt|shouldAlpha)\b/g, "false"],
  [/\bgetBBox != null/g, "false"],
  [/\bwithProx\b/g, "false"],
  [/\bbias == 0\b/g, "true"],
  // Scales: time from left to right, and plain numbers from below up.
  [/\bxScaleDistr == [234]/g, "false"],
  [/(?<!\.)\bdistr == (?:3|4|100)\b/g, "false"],
  [/\b(?:wsc|sc|scale)\.distr\b/g, "1"],
  [/, sorted = 0, log = false\) \{/g, ") { const sorted = 0, log = false;"],
  [/\b(?:scaleX|sx)\.ori == 0/g, "true"],
  [/\bscaleX\.ori == 1/g, "false"],
  [/\bscale\.dir == -1|\bsc\.dir == -1/g, "false"],
  [/\bconst dir = scaleX\.dir \* \(.*\);/g, "const dir = 1;"],
  [/(?<!\.)\bdir == 1\b/g, "true"],
  [/(?<!\.)\bdir == -1\b/g, "false"],
  [/\balign [<>]= 0/g, "true"],
  [/\bdir, pixelForX, align\) \{/g, "_dir, pixelForX) { const dir = 1;"],
  [/\b(?:scaleOpts|wsc|sc)\.from != null/g, "false"],
  [/\b(?:wsc|sc)\.from == null/g, "true"],
  [/\brangeIsArr \? false : /g, ""],
  [/\bsc\.range = fnOrSelf\(rn [\s\S]*?\n\t\t\t\t\)\);/g, "sc.range = fnOrSelf(rn || snapNumX);"],
  [/\bif \(scaleX\.time\)/g, "if (true)"],
  // Lines alone: nothing is filled, no band lies between two of them.
  [/\bseries\.fill != null \|\| bandFillDir != 0|\bbandClipDir != 0/g, "false"],
  [/, pixelForX, alignGaps\)/g, ", pixelForX)"],
  [/\bfillStroke\(si, /g, "strokeFill("],
  [/ \|\| bandClip\)/g, ")"],
  [/\bif \(bandClip\)/g, "if (false)"],
  [/\b(?:strokePath|fillPath) instanceof Map/g, "false"],
  [/\bconst rect = ori == 0 \? rectH : rectV;/g, "const rect = rectH;"],
  [/\bconst rectH = rect\(0\);/g, "const rectH = (p, x, y, w, h) => { p.rect(x, y, w, h); };"],
  // Axes: two, without a title, their values written by the page.
  [/\baxis\.values = \(\n[\s\S]*?\n\t\t\t\);/g, "axis.values = av;"],
  [/\baxis\.label != null/g, "false"],
  [/\bangle > 0|\bangle < 0/g, "false"],
  [/\bangle \|\|/g, ""],
  [/\bif \(angle\)/g, "if (false)"],
  [/\bside == 2 \? axis\.rotate\(.*\) : 0/g, "0"],
  [/\baxis\.align(?:To)? == [12]/g, "false"],
  [/\bborder\.show\b/g, "false"],
  // The drag marks a span of time and does nothing else; no other chart follows it.
  [/\bsrc == null/g, "true"],
  [/\be != null/g, "true"],
  [/\bdragY\b|\bsyncKey != null/g, "false"],
  [/\bdrag\.setScale\b/g, "false"],
  [/\bcursor\.lock\b/g, "false"],
  [/\bif \(deferHooks\)/g, "if (false)"],
];

/** Blocks and lines that are then superfluous. */
const GONE: readonly RegExp[] = [
  /^\s*\(paths\.(linear |stepped|bars|spline)\s*= \w+\);$/gm,
  /^\s*uPlot\.(assign|fmtNum|range\w*|orient|pxRatio|join|fmtDate|tzDate|sync|addGap|clipGaps)\s*= \w+;$/gm,
  /^\tlet paths = uPlot\.paths = \{[\s\S]*?^\t\};$/gm,
  /^\ton\(dppxchange, win, \(\) => \{ uPlot\.pxRatio = pxRatio; \}\);$/gm,
  /^const (?:rectV|drawAccV|days3|months3|localTz|numFormatter|wholeIncrs|(?:NL)?(?:yyyy|md|mdyy|hmmaa|hmm)) += .*;$/gm,
  /^const (?:xySeriesOpts|engNames) = \{[\s\S]*?^\};$/gm,
  /^\s*(?:const (?:mode|showLegend|showCursor|cursorFocus|cursorOnePt|xScaleDistr|alignGaps)|let (?:shouldAlpha|distr|withProx|bias|angle|dragY|deferHooks|rangeIsArr)) += .*;$/gm,
  /^\t+let \[ bandFillDir, bandClipDir \] = .*;$/gm,
  /, gapsClip2, bandClip(?=\) \{)/g,
  /^const \[ timeIncrsMs, .*;$/gm,
  /^genIncrs\(2, .*;$/gm,
  /^\tconst _timeAxisStamps = \[[\s\S]*?^\t\];$/gm,
  /^\t\t_timeAxisStamps,$/gm,
  / _timeAxisStampsS, /g,
  /^\tconst (?:_fmtDate|_timeAxisVals|_timeSeriesVal) .*;$/gm,
  /^\tconst (?:legend|focus|markers) .*;$/gm,
  /^\t\{\n\t\tlegend\.idxs[\s\S]*?^\t\}$/gm,
  /^\t\t\tlegend\.idx = idx;$/gm,
  /^\t\(opts\.plugins [\s\S]*?^\t\}\);$/gm,
  /^\tif \(opts\.(?:id != null|title)[\s\S]*?(?:^\t\}|root\.id = opts\.id;)$/gm,
  /^\taddClass\(root, opts\.class\);$/gm,
  /^\tbands\.forEach\(b => \{[\s\S]*?^\t\}\);$/gm,
  /^\t\tif \(mode == 1 \|\| i > 0\) \{\n\t\t\tlet isTime[\s\S]*?^\t\t\}$/gm,
  /^\t\t\ts\.fillTo = .*;$/gm,
  /^\t\t\tif \(isArr\(axis\.incrs\)\) \{[\s\S]*?^\t\t\t\}$/gm,
  /^\t\tif \(cursor\._lock\)\n\t\t\treturn;$/gm,
  /^\t\t\tif \(src != null\) \{\n\t\t\t\tlet \[xKey[\s\S]*?\n\t\t\telse(?= \{)/gm,
  /^\t\t\t\tif \(scaleKey != xScaleKey \|\| [\s\S]*?^\t\t\t\t\}$/gm,
  /^\t\t\t\tdragY = drag\.y .*;$/gm,
  /dragY = (?=drag\._x)/g,
  /^\t\tdrag\._y = dragY;$/gm,
  /^\t\t\t\tlet uni = [\s\S]*?dragX = dragY = true;$/gm,
  /^\tevents(?:\.\w+|\["setSeries"\]) = (?:\w+;|\(e[\s\S]*?^\t\};)$/gm,
  /^\tconst (?:events = \{\}|seriesIdxMatcher = .*|sync = .*);$/gm,
  /^\tconst syncOpts = [\s\S]*?^\tconst syncKey = .*;$/gm,
  /^\tlet (?:legend\w+|multiValLegend|NULL_LEGEND_VALUES)\b.*;$/gm,
  /^\tconst (?:son|soff) += .*;$/gm,
  /^\t\tlegendTable\?\..*$/gm,
  /^const (?:facet|months|days) = [\[{][\s\S]*?^[\]}];$/gm,
  /^\t(?:\tsync\.unsub|sync\.sub)\(self\);$/gm,
  /^\tself\.(?:redraw|setCursor|posToVal2?) = [^\n]*\{\n[\s\S]*?^\t\};$/gm,
];

/** Functions that only what is gone would call, inside the one large function, where the build keeps them. */
const UNCALLED = [
  "initLegendRow addSeries delSeries toggleDOM setSeries setBand addBand delBand setAlpha setFocus syncLegend",
  "setLegendValues pub flushHooks batch fillStroke",
].join(" ").split(" ");
/** Those that are still called, and have nothing to do. */
const IDLE = ["pubSync"];
/** What they were hung on. */
const HUNG =
  /^\tself\.(?:addSeries|delSeries|setSeries|addBand|setBand|delBand|setLegend|batch|pub|valToIdx|posToIdx) = .*;$/gm;

/** The whole function of a name, one tab in. */
function functionOf(name: string): RegExp {
  return new RegExp(`^\\tfunction ${name}\\([\\s\\S]*?^\\t\\}$`, "gm");
}

/** In the order in which they are to be put. */
export const UPLOT_ROWS: readonly UplotRow[] = [
  ...UNCALLED.map((name) => ({ finds: functionOf(name), puts: "" })),
  ...IDLE.map((name) => ({ finds: functionOf(name), puts: `\tfunction ${name}() {}` })),
  { finds: functionOf("setLegend"), puts: "\tfunction setLegend() { shouldSetLegend = false; }" },
  { finds: HUNG, puts: "" },
  ...GONE.map((finds) => ({ finds, puts: "" })),
  ...ALWAYS.map(([finds, puts]) => ({ finds, puts })),
];
