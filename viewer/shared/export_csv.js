/**
 * Tables for spreadsheets: RFC 4180, with a row of names first. Numbers are written unchanged. A text that a
 * spreadsheet would take for a formula (it begins with = + - @, a tab or a line break) gets a ' in front, as
 * spreadsheets themselves mark text: the contents of a snapshot are not trusted.
 * @param {CsvRow[number]} value
 */
function csvField(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  const text = /^[\t\r\n]|^\s*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * `rows`: arrays of numbers, texts and nulls; the first one holds the names.
 * @param {CsvRow[]} rows
 */
export function csvText(rows) {
  return rows.map((row) => row.map(csvField).join(",")).join("\r\n") + "\r\n";
}
