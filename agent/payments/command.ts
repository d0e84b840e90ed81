/** `npm run payments -- unfinished | show IDENTITY`: what the response log holds, for the operator, beside a running service. */
import type { ResponseRecord } from '../../store/record.ts'
import { openResponseLog, type ResponseLog } from '../../store/responses.ts'
import { paymentSchema } from './headers.ts'

const EXIT_DONE = 0
const EXIT_FAILED = 1
const EXIT_USAGE = 2

interface Command {
  args: string[]
  dataDirectory: string
  print: (line: string) => void
}

export async function paymentsCommand({ args, dataDirectory, print }: Command): Promise<number> {
  const [name, identity, ...more] = args
  const isUnfinished = name === 'unfinished' && identity === undefined
  const isShow = name === 'show' && identity !== undefined && more.length === 0
  if (!isUnfinished && !isShow) {
    print('usage: npm run payments -- unfinished | show IDENTITY')
    return EXIT_USAGE
  }
  const log = openResponseLog(dataDirectory, { readOnly: true })
  try {
    return isShow ? await show(log, identity, print) : await list(log, print)
  } finally {
    await log.close()
  }
}

async function list(log: ResponseLog, print: (line: string) => void): Promise<number> {
  let damaged = 0
  for (const identity of await log.unfinished()) {
    const record = await readOrNothing(log, identity)
    if (!record) damaged += 1
    print(
      record
        ? `${record.state.padEnd(8)} ${record.updated_at} attempt ${record.attempt} ${identity}`
        : `damaged ${identity}`,
    )
  }
  return damaged === 0 ? EXIT_DONE : EXIT_FAILED
}

async function show(log: ResponseLog, identity: string, print: (line: string) => void): Promise<number> {
  const record = await readOrNothing(log, identity.toLowerCase())
  if (record === undefined) {
    print('no such record, or a damaged one')
    return EXIT_FAILED
  }
  print(JSON.stringify(withoutSignature(record), null, 2))
  return EXIT_DONE
}

/** A signature is as good as the money until its end, and has no place on a screen after it. Nor has the answer. */
function withoutSignature(record: ResponseRecord) {
  const { payment, body, ...rest } = record
  const { authorization } = paymentSchema.parse(payment).payload
  return { ...rest, authorization, body_bytes: Buffer.byteLength(body) }
}

async function readOrNothing(log: ResponseLog, identity: string): Promise<ResponseRecord | undefined> {
  try {
    return await log.read(identity)
  } catch {
    return undefined
  }
}
