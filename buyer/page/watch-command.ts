/** The command that a record offers to copy. */

interface Offered {
  number: string
  baseUrl: string
  mode: string
  /** The test account of the sandbox, whose key is the default of the commands in a checkout. Else empty. */
  account: string
}

export function watchCommand({ number, baseUrl, mode, account }: Offered): string {
  const program = account === '' ? 'irish-company-agent-client' : 'npm run --silent client --'
  const key = account === '' ? ' --key-file buyer.key' : ''
  return `printf 'Number\\n${number}\\n' > watch.csv
${program} watch watch.csv --column Number --state watch.json --max-total 1.00 --url ${baseUrl} --mode ${mode}${key}`
}
