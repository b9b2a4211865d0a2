# What of net is compiled together beneath sanitizers (see groups.cmake), by what it is about. A file that stands nowhere here is compiled by
# itself.

# Those that spawn or await.
kvc_group(kvc_net http_sessions net/http_server net/http_session net/http_session_read net/http_session_stream net/http_session_write
          net/http_shared)
kvc_group(kvc_net callers net/http_client net/lmcache_executor net/mp_caller net/store_caller net/webhook_executor)
kvc_group(kvc_net masters net/master_executor net/promotion_service net/promotion_service_ends)
kvc_group(kvc_net coordinator net/coordinator_context net/coordinator_eviction net/coordinator_loops net/coordinator_metrics
          net/coordinator_resync net/api_prefetch net/home_listing)
kvc_group(kvc_net coordinator_answers net/api_quota net/api_usage_events net/coordinator_service net/quota_file)
kvc_group(kvc_net answers net/api_blend net/api_dump net/api_inspect net/api_query net/api_registry)
kvc_group(kvc_net instances net/api_instances net/api_service net/exist_lookup net/exist_wait net/shared_pages)
kvc_group(kvc_net names net/budget_watch net/eviction_task net/fleet_service net/joint_service net/name_lookup net/name_service net/named_prompt)
kvc_group(kvc_net streams net/lane_turns net/stream_listener net/stream_listener_hear net/stream_listener_life net/stream_listener_open
          net/stream_news
          net/stream_sink net/stream_sink_counts net/stream_sink_objects)
kvc_group(kvc_net stores net/inlet_mail net/object_shelves net/store_metrics net/store_reconciler net/store_reconciler_looks net/store_service)
kvc_group(kvc_net lanes net/descriptor_wait net/lane_beat net/lasting_task net/pool_asker net/ready_sockets net/recipe_task net/replay_gate net/runtime
          net/sender_turns net/task_scope)
kvc_group(kvc_net prefetches net/api_batch net/long_prompt net/object_walk net/query_prefetch net/worker_report)

# Those that read and write.
kvc_group(kvc_net dialects net/content_names net/event_codec net/event_codec_mooncake net/event_codec_sglang net/event_codec_standard
          net/event_codec_tensorrt net/event_codec_vllm net/event_fields net/event_hash net/event_members)
kvc_group(kvc_net encoders net/dump_encode net/event_encode net/event_encode_engines net/event_encode_parts net/event_encode_stores)
kvc_group(kvc_net tapes net/field_faults net/field_reading net/field_rules net/list_elements net/msgpack_reader net/msgpack_tape)
kvc_group(kvc_net plain_batches net/joined_removals net/number_list net/plain_events net/plain_fields net/spare_lists)
kvc_group(kvc_net dumps net/coordinator_reading net/dump_decode net/dump_events net/usage_scan)
kvc_group(kvc_net documents net/json_handler net/json_reader net/json_tree net/request_document)
kvc_group(kvc_net questions net/answer_writer net/api_types net/blend_reading net/exist_request net/plain_query net/stream_trust
          net/unwhole_streams)
kvc_group(kvc_net coordinator_words net/coordinator_openapi net/coordinator_reply net/coordinator_router net/coordinator_tier)
kvc_group(kvc_net http_parts net/http_auth net/http_parser net/http_reply net/http_router net/http_target)
kvc_group(kvc_net addresses net/endpoint_host net/host_text net/master_answers net/store_registration net/store_url
          net/stream_rules_of)
kvc_group(kvc_net sockets net/connection_notes net/replay_client net/zmq_engine net/zmq_frames net/zmq_message_frames net/zmq_monitor
          net/zmq_socket)
kvc_group(kvc_net links net/live_burst net/live_socket net/publisher_address net/publisher_calls net/publisher_link net/publisher_session net/receive_chunk
          net/zmtp_codec)
kvc_group(kvc_net series net/label_text net/process_usage net/stream_report net/stream_series)
