/** Clients that pipeline requests and read no answer, and what another client notices of them. */
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { quantile } from '../statistics.ts'
import { Connection, toBytes, type LoadRequest } from './client.ts'
import { residentMemory, type ServerProcess } from './server-process.ts'

/** One read of 64 KiB holds this many, and each answer is large. */
const PIPELINED = Buffer.from(toBytes({ path: '/openapi.json', status: 200 }).repeat(1_600))
/** The service resets such a connection. The client opens another one this often. */
const REOPEN_MS = 1_000
const PAUSE_MS = 5
const CONNECTIONS_OF_ADDRESS = 100

export interface PipeliningResult {
  connections: number
  /** Of the other client, in milliseconds. */
  p99: number
  /** In MiB. The highest anonymous memory of the service. Resident memory also has the pages of its mapped files. */
  anonymousMiB: number
}

/** Throws when the service ends the connection of the other client or answers it with another status. */
export async function measurePipelining(
  service: ServerProcess,
  { connections, seconds, requests }: { connections: number; seconds: number; requests: readonly LoadRequest[] },
): Promise<PipeliningResult> {
  using _ = pipeline(service.url, connections)
  using other = await Connection.open(service.url)
  const times: number[] = []
  let anonymousMiB = 0
  const end = performance.now() + seconds * 1_000
  for (let next = 0; performance.now() < end; next += 1) {
    const request = requests[next % requests.length] as LoadRequest
    const began = performance.now()
    const { status } = await other.send(toBytes(request))
    times.push(performance.now() - began)
    if (status !== request.status) throw new Error(`${request.path} got ${status} instead of ${request.status}`)
    anonymousMiB = Math.max(anonymousMiB, residentMemory(service.child.pid, 'RssAnon'))
    await sleep(PAUSE_MS)
  }
  return { connections, p99: quantile(times, 0.99), anonymousMiB }
}

/** Keeps connections open that send pipelined requests and read nothing, until it is disposed. */
function pipeline(url: string, connections: number): Disposable {
  const { port, hostname } = new URL(url)
  const open = (index: number): Socket => {
    // An address has at most 128 connections, and the other client keeps its own.
    const localAddress = `127.0.0.${2 + Math.floor(index / CONNECTIONS_OF_ADDRESS)}`
    const socket = connect({ port: Number(port), host: hostname, localAddress }).pause()
    socket.on('error', () => undefined).write(PIPELINED)
    return socket
  }
  const sockets = Array.from({ length: connections }, (_, index) => open(index))
  const reopening = setInterval(() => {
    for (const [index, socket] of sockets.entries()) {
      socket.destroy()
      sockets[index] = open(index)
    }
  }, REOPEN_MS)
  return {
    [Symbol.dispose]() {
      clearInterval(reopening)
      for (const socket of sockets) socket.destroy()
    },
  }
}
