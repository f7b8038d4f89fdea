// The beginning of a cell that a spreadsheet calculates, for all writers of CSV.

/**
 * Source of a pattern for flag `v`: a sign of a formula, in ASCII, full width or small form, or a tab or line break, also behind spaces and characters
 * that are not visible (OWASP, CSV Injection).
 */
export const FORMULA_START = "[[\\p{Cc}\\p{Cf}\\p{Z}\\p{DI}]--[\\t\\r\\n]]*[=+\\-@＝＋－＠﹦﹢﹣﹫\\t\\r\\n]";
