/** Starts an HTTP server on a free local port. */
import type { Server } from 'node:http'
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
