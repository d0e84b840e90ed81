/** Servers on free local ports. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ListeningServer extends Disposable {
  url: string
  close(): void
}

export async function listen(server: Server): Promise<ListeningServer> {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://127.0.0.1:${port}`, close, [Symbol.dispose]: close }
}

/** A port that was free a moment ago, for a program that must know its port before it starts. */
export async function freePort(): Promise<number> {
  const server = await listen(createServer())
  server.close()
  return Number(new URL(server.url).port)
}
