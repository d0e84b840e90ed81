/** Buys with the command `mppx`, which has its own x402 implementation, and prints the status and the receipt. */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const command = fileURLToPath(new URL('node_modules/mppx/dist/bin.js', import.meta.url))
const environment = { PATH: process.env.PATH, HOME: process.env.HOME, MPPX_PRIVATE_KEY: process.env.BUYER_KEY }
const options = [process.env.RESOURCE, '--protocol', 'x402', '--include']
const output = execFileSync(process.execPath, [command, ...options], { env: environment, encoding: 'utf8' })
// The command prints every response: first the quote, last the bought answer.
const [, status] = [...output.matchAll(/^HTTP\/\S+ (\d+)/gm)].at(-1) ?? []
const [, receipt] = /^payment-response: (\S+)/im.exec(output) ?? []
console.log(status, receipt)
