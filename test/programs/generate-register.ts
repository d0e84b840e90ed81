/**
 * `npm run tool -- register`: writes the five days of the sandbox's register again. `npm run tool -- register ROWS
 * SEED FILE` writes a made-up register of any size, as CSV or, if FILE ends in `.zip`, as an archive.
 */
import { fileURLToPath } from 'node:url'
import { generateRegister } from '../support/sample/generate.ts'
import { SANDBOX_DAYS } from '../support/sample/register.ts'
import { readArguments } from '../support/arguments.ts'

const [rows, seed, out] = readArguments('[ROWS SEED FILE]')
if (out !== undefined) await generateRegister({ rows: Number(rows), seed: Number(seed), out })
else for (const { file, options } of SANDBOX_DAYS) await generateRegister({ ...options, out: fileURLToPath(file) })
