// The beginning of a cell that a spreadsheet calculates, for all writers of CSV.

/**
 * Source of a pattern: a sign of a formula, in ASCII, full width or small form, also behind spaces and characters that are not visible, or a
 * tab or line break (OWASP, CSV Injection). For flag `u`.
 */
export const FORMULA_START = "(?:[\\p{Cc}\\p{Cf}\\p{Z}\\p{DI}]*[=+\\-@＝＋－＠﹦﹢﹣﹫]|[\\t\\r\\n])";
