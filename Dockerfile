# The program and its data on Debian:
#
#     docker build -t plait .
#     docker run --rm plait search llama-3.1-8b dgx-h100 --gpus 64 --seq 8k --gbs 256
#     docker run --rm -i plait mcp                         a server for agents
#     docker run --rm -v "$PWD:/work" plait doctor ...     files of this folder
FROM debian:12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates git
COPY . /plait
WORKDIR /plait
RUN ./dev static
RUN mkdir /program && tar -xzf build/plait-*-linux-*.tar.gz -C /program --strip-components=1

FROM debian:12-slim
COPY --from=build /program /usr/local
WORKDIR /work
USER nobody
ENTRYPOINT ["plait"]
