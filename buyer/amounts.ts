/** Amounts of USDC as commands show and read them. Programs have micro-USDC. */

/** With at least two decimals, so that what is shown can be given to an option. */
export function showUsdc(microUsdc: number | string): string {
  if (!/^[0-9]{1,15}$/.test(String(microUsdc))) return 'an unreadable amount of'
  return (Number(microUsdc) / 1_000_000).toFixed(6).replace(/0{1,4}$/, '')
}

/**
 * Micro-USDC. Undefined if the text has another form, or is zero. A whole number is refused, because it can be meant as
 * micro-USDC.
 */
export function readUsdc(text: string): number | undefined {
  const [, whole = '', decimals] = /^(0|[1-9][0-9]{0,8})\.([0-9]{1,6})$/.exec(text) ?? []
  if (decimals === undefined) return undefined
  return Number(whole + decimals.padEnd(6, '0')) || undefined
}
