/**
 * The baseline of the HTTP benchmarks: a node:http server that sends fixed responses, and for some paths commits durable
 * LMDB transactions first. Run by `fork` with the responses as JSON; sends its URL to the parent process.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { open } from 'lmdb'

export interface BareResponse {
  path: string
  status: number
  headers: Record<string, string>
  bytes: number
  /** Durable transactions before the response; the bytes are of one record. */
  writes?: { transactions: number; bytes: number; directory: string }
}

const [json = '[]'] = process.argv.slice(2)
const responses = new Map(
  (JSON.parse(json) as BareResponse[]).map(({ path, bytes, writes, ...rest }) => {
    return [path, { ...rest, body: Buffer.alloc(bytes, 'x'), write: writes && openWriter(writes) }]
  }),
)

function openWriter({ transactions, bytes, directory }: NonNullable<BareResponse['writes']>): () => Promise<void> {
  // The settings of the response log.
  const environment = open<Buffer, string>({
    path: directory,
    noSubdir: false,
    overlappingSync: false,
    pageSize: 4096,
    encoding: 'binary',
  })
  const value = Buffer.alloc(bytes, 'x')
  return async () => {
    const key = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('hex')
    for (let count = 0; count < transactions; count += 1)
      await environment.transaction(() => void environment.put(key, value))
  }
}

const server = createServer(async (request, response) => {
  const found = responses.get(request.url ?? '')
  await found?.write?.()
  response.writeHead(found?.status ?? 404, found?.headers).end(found?.body)
})
server.listen(0, '127.0.0.1', () => process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
process.on('SIGTERM', () => process.exit())
