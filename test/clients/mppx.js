/** Buys with the command of `mppx`, which has an x402 of its own: prints the status and the receipt. */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const command = fileURLToPath(new URL('node_modules/mppx/dist/bin.js', import.meta.url))
const environment = { PATH: process.env.PATH, HOME: process.env.HOME, MPPX_PRIVATE_KEY: process.env.BUYER_KEY }
const options = [process.env.RESOURCE, '--protocol', 'x402', '--include']
const output = execFileSync(process.execPath, [command, ...options], { env: environment, encoding: 'utf8' })
// It shows every response: the quote first, what was bought last.
const [, status] = [...output.matchAll(/^HTTP\/\S+ (\d+)/gm)].at(-1) ?? []
const [, receipt] = /^payment-response: (\S+)/im.exec(output) ?? []
console.log(status, receipt)
