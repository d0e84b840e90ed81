/** The command that a record offers to copy. */

/** The service of a copied command, and who pays. */
export interface OfferedService {
  baseUrl: string
  mode: string
  /** The test account of the sandbox, whose key is the default of the commands in a checkout. Else empty. */
  account: string
}

/** The program of a command, and its last options. */
export const clientWords = ({ baseUrl, mode, account }: OfferedService) => ({
  program: account === '' ? 'irish-company-agent-client' : 'npm run --silent client --',
  service: `--url ${baseUrl} --mode ${mode}${account === '' ? ' --key-file buyer.key' : ''}`,
})

export function watchCommand({ number, ...offered }: OfferedService & { number: string }): string {
  const { program, service } = clientWords(offered)
  return `printf 'Number\\n${number}\\n' > watch.csv
${program} watch watch.csv --column Number --state watch.json --max-total 1.00 ${service}`
}
