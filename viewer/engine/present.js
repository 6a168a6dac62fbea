/** Values that may be missing. */

/**
 * Returns a value that the caller knows to be present; throws with the name of the missing value if it is not.
 * @template T
 * @param {T|null|undefined} value @param {string} what
 * @returns {T}
 */
export function present(value, what) {
  if (value === null || value === undefined) throw new Error(`there is no ${what}`);
  return value;
}

/**
 * For filters.
 * @template T
 * @param {T|null|undefined} value
 * @returns {value is T}
 */
export function isPresent(value) {
  return value !== null && value !== undefined;
}
