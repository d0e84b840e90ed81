/**
 * Rotates the keys of a directory, or marks keys as compromised, when it gets SIGUSR2: DIRECTORY MILLISECONDS [KID...].
 */
import { once } from 'node:events'
import { compromiseKeys } from '../../keys/compromise.ts'
import { rotateKeys } from '../../keys/rotate.ts'

const [directory = '', milliseconds = '', ...kids] = process.argv.slice(2)
const options = { directory, now: () => Number(milliseconds) }
const keepAlive = setInterval(() => undefined, 1_000)
const started = once(process, 'SIGUSR2')
process.stdout.write('ready\n')
await started
clearInterval(keepAlive)
const { made } = await (kids.length > 0 ? compromiseKeys({ ...options, kids }) : rotateKeys(options))
process.stdout.write(`made ${made?.publicJwk.kid ?? 'none'}\n`)
