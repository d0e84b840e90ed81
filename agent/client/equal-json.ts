/** Whether two values of `JSON.parse` are equal. The order of members does not count. */
export function isEqualJson(one: unknown, other: unknown): boolean {
  if (!isObject(one) || !isObject(other)) return one === other
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const members = Object.entries(one)
  if (members.length !== Object.keys(other).length) return false
  return members.every(([name, value]) => Object.hasOwn(other, name) && isEqualJson(value, other[name]))
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null
